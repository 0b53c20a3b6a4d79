//! Structs that extend one another, and structs that refer to one another.

use dovetail_wire::{Ref, UnknownFields, extends, family, message};

/// A struct whose fields all derive `Default`, its table, and what it extends.
macro_rules! structs {
    ($($name:ident $(as $wire:literal)? $(extends $base:ident)? {
        $($id:literal $($field:ident).+: $ty:ty $([$($attribute:ident),*])?,)*
        ..$($unknown:ident).+
    } { $($own:ident: $own_type:ty,)* })*) => {$(
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(pub $own: $own_type,)*
        }

        message!($name $(as $wire)? {
            $($id $($field).+: $ty $([$($attribute),*])?,)*
            ..$($unknown).+
        });

        $(extends!($name: $base);)?
    )*};
}

structs! {
    Animal {
        1 name: String,
        2 legs: Option<i32>,
        ..unknown_fields
    } { name: String, legs: Option<i32>, unknown_fields: UnknownFields, }
    Dog extends Animal {
        1 base.name: String,
        2 base.legs: Option<i32>,
        3 breed: String,
        4 friends: Vec<AnyAnimal>,
        ..base.unknown_fields
    } { base: Animal, breed: String, friends: Vec<AnyAnimal>, }
    Puppy extends Dog {
        1 base.base.name: String,
        2 base.base.legs: Option<i32>,
        3 base.breed: String,
        4 base.friends: Vec<AnyAnimal>,
        5 weeks: i8 [required],
        ..base.base.unknown_fields
    } { base: Dog, weeks: i8, }
    Cat extends Animal {
        1 base.name: String,
        2 base.legs: Option<i32>,
        3 lives: i32,
        ..base.unknown_fields
    } { base: Animal, lives: i32, }
    Cage {
        1 inmate: AnyAnimal,
        2 more: Vec<AnyAnimal>,
        3 maybe: Option<AnyAnimal>,
        ..unknown_fields
    } { inmate: AnyAnimal, more: Vec<AnyAnimal>, maybe: Option<AnyAnimal>, unknown_fields: UnknownFields, }
    // The cage from before there were dogs.
    OldCage as "Cage" {
        1 inmate: Animal,
        2 more: Vec<Animal>,
        3 maybe: Option<Animal>,
        ..unknown_fields
    } { inmate: Animal, more: Vec<Animal>, maybe: Option<Animal>, unknown_fields: UnknownFields, }
    // The cage from when cats were all there was.
    CatCage as "Cage" {
        1 inmate: Feline,
        2 more: Vec<Feline>,
        3 maybe: Option<Feline>,
        ..unknown_fields
    } { inmate: Feline, more: Vec<Feline>, maybe: Option<Feline>, unknown_fields: UnknownFields, }
    Person {
        1 name: String,
        2 friend: Ref<Person>,
        3 children: Vec<Bond>,
        4 pet: Ref<AnyAnimal>,
        ..unknown_fields
    } { name: String, friend: Ref<Person>, children: Vec<Bond>, pet: Ref<AnyAnimal>, unknown_fields: UnknownFields, }
    Bond {
        1 to: Ref<Person> [required],
        ..unknown_fields
    } { to: Ref<Person>, unknown_fields: UnknownFields, }
    // The person without references.
    PlainPerson as "Person" {
        1 name: String,
        2 friend: Option<Box<PlainPerson>>,
        3 children: Vec<PlainBond>,
        4 pet: Option<Animal>,
        ..unknown_fields
    } { name: String, friend: Option<Box<PlainPerson>>, children: Vec<PlainBond>, pet: Option<Animal>, unknown_fields: UnknownFields, }
    PlainBond as "Bond" {
        1 to: PlainPerson [required],
        ..unknown_fields
    } { to: PlainPerson, unknown_fields: UnknownFields, }
    // The person of a program that knows fewer fields.
    Lonely as "Person" {
        1 name: String,
        4 pet: Ref<AnyAnimal>,
        ..unknown_fields
    } { name: String, pet: Ref<AnyAnimal>, unknown_fields: UnknownFields, }
}

#[derive(Clone, Debug, PartialEq)]
pub enum AnyAnimal {
    Animal(Animal),
    Dog(Dog),
    Puppy(Puppy),
    Cat(Cat),
}

family!(AnyAnimal { Animal(Animal), Dog(Dog), Puppy(Puppy), Cat(Cat) });

#[derive(Clone, Debug, PartialEq)]
pub enum Feline {
    Animal(Animal),
    Cat(Cat),
}

family!(Feline { Animal(Animal), Cat(Cat) });
