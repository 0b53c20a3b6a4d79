//! The records that tonic and volo generate.

use crate::harness::convert::{Convert, records};
use crate::tonic::proto;
use crate::volo::thrift;
use volo::FastStr;

records!(proto);
records!(thrift);

impl Convert<FastStr> for &String {
    fn convert(self) -> FastStr {
        FastStr::new(self)
    }
}

impl Convert<String> for FastStr {
    fn convert(self) -> String {
        self.into()
    }
}
