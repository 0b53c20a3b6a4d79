"""Makes the keys and tokens beside this file, with PyJWT and cryptography: python make.py

Forged tokens are put together by hand, as PyJWT refuses to make them.
"""

import base64
import hashlib
import hmac
import json
import pathlib

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

HERE = pathlib.Path(__file__).parent
LATER, PAST = 4102444800, 1700000000  # 2100 and 2023

rsa_key = rsa.generate_private_key(65537, 2048)
other_key = rsa.generate_private_key(65537, 2048)
ec_key = ec.generate_private_key(ec.SECP256R1())
ed_key = ed25519.Ed25519PrivateKey.generate()
SECRET = b"a secret that has thirty-two bytes."


def public_pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def jwk(algorithm, key, kid):
    text = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key())
    return {**json.loads(text), "kid": kid, "use": "sig"}


def claims(**changed):
    plain = {
        "iss": "https://issuer.example",
        "aud": "shop",
        "sub": "ada",
        "exp": LATER,
        "roles": ["clerk", "reader"],
        "tenant": "north",
    }
    return {name: value for name, value in {**plain, **changed}.items() if value is not None}


def part(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def by_hand(header, payload, sign):
    signed = f"{part(header)}.{part(payload)}"
    return f"{signed}.{part(sign(signed.encode()))}"


def hs256(secret):
    return lambda signed: hmac.new(secret, signed, hashlib.sha256).digest()


def rs256(payload, **headers):
    return jwt.encode(payload, rsa_key, "RS256", headers=headers or None)


good = rs256(claims(), kid="rsa")
head, body, signature = good.split(".")
tokens = {
    "RS256": good,
    "PS256": jwt.encode(claims(), rsa_key, "PS256", headers={"kid": "rsa"}),
    "ES256": jwt.encode(claims(), ec_key, "ES256", headers={"kid": "ec"}),
    "EdDSA": jwt.encode(claims(), ed_key, "EdDSA", headers={"kid": "ed"}),
    "no-kid": rs256(claims()),
    "roles-as-text": rs256(claims(roles="clerk reader"), kid="rsa"),
    "several-audiences": rs256(claims(aud=["stock", "shop"]), kid="rsa"),
    "HS256": jwt.encode(claims(), SECRET, "HS256"),
    "none": by_hand({"alg": "none", "typ": "JWT"}, claims(), lambda _: b""),
    "None": by_hand({"alg": "None", "typ": "JWT"}, claims(), lambda _: b""),
    "no-signature": f"{head}.{body}.",
    "key-confusion": by_hand(
        {"alg": "HS256", "typ": "JWT", "kid": "rsa"}, claims(), hs256(public_pem(rsa_key))
    ),
    "embedded-key": by_hand(
        {"alg": "RS256", "jwk": jwk("RS256", other_key, "rsa")},
        claims(),
        lambda signed: jwt.get_algorithm_by_name("RS256").sign(signed, other_key),
    ),
    "another-key": jwt.encode(claims(), other_key, "RS256", headers={"kid": "rsa"}),
    "unknown-kid": rs256(claims(), kid="other"),
    "wrong-kid": rs256(claims(), kid="ec"),
    "critical": by_hand(
        {"alg": "RS256", "kid": "rsa", "crit": ["exp"], "exp": 1},
        claims(),
        lambda signed: jwt.get_algorithm_by_name("RS256").sign(signed, rsa_key),
    ),
    "changed-claims": f"{head}.{part(claims(sub='root'))}.{signature}",
    "expired": rs256(claims(exp=PAST), kid="rsa"),
    "too-early": rs256(claims(nbf=LATER - 1), kid="rsa"),
    "no-exp": rs256(claims(exp=None), kid="rsa"),
    "no-sub": rs256(claims(sub=None), kid="rsa"),
    "no-aud": rs256(claims(aud=None), kid="rsa"),
    "wrong-audience": rs256(claims(aud="stock"), kid="rsa"),
    "wrong-issuer": rs256(claims(iss="https://issuer.example.evil"), kid="rsa"),
    "no-issuer": rs256(claims(iss=None), kid="rsa"),
    "no-json": by_hand(b"{", b"{", lambda _: b"x"),
    "empty-parts": "..",
    "no-base64": "a!.b!.c!",
}
keys = {"keys": [jwk("RS256", rsa_key, "rsa"), jwk("ES256", ec_key, "ec"), jwk("EdDSA", ed_key, "ed")]}
(HERE / "keys.json").write_text(json.dumps(keys, indent=1) + "\n")
for name, key in [("rsa", rsa_key), ("ec", ec_key), ("ed", ed_key)]:
    (HERE / f"{name}.pem").write_bytes(public_pem(key))
lines = [f"{name} {token}\n" for name, token in tokens.items()]
(HERE / "tokens.txt").write_text("".join(lines))
