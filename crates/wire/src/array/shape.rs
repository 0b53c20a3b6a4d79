/// An extent that is part of the type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fixed<const N: u32>;

/// An extent that is part of the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Free;

/// The extents of an [`Array`](super::Array): a tuple of [`Fixed`] and [`Free`], from the outermost
/// one to the innermost one.
pub trait Shape {
    /// As many numbers as the array has dimensions.
    type Extents: Copy + AsRef<[usize]> + TryFrom<Vec<usize>>;

    /// The extents that are part of the type; `None` for free ones.
    const SHAPE: &'static [Option<u32>];

    /// The extents of an array of nothing: 0 where they are free.
    const EMPTY: Self::Extents;
}

/// One dimension.
pub trait Dimension {
    /// Its extent, if that is part of the type.
    const EXTENT: Option<u32>;
}

impl<const N: u32> Dimension for Fixed<N> {
    const EXTENT: Option<u32> = Some(N);
}

impl Dimension for Free {
    const EXTENT: Option<u32> = None;
}

const fn empty(extent: Option<u32>) -> usize {
    match extent {
        Some(extent) => extent as usize,
        None => 0,
    }
}

macro_rules! shape {
    ($($D:ident)*) => {
        impl<$($D: Dimension),*> Shape for ($($D,)*) {
            type Extents = [usize; <[&str]>::len(&[$(stringify!($D)),*])];

            const SHAPE: &'static [Option<u32>] = &[$($D::EXTENT),*];

            const EMPTY: Self::Extents = [$(empty($D::EXTENT)),*];
        }
    };
}

shape!(A B);
shape!(A B C);
shape!(A B C D);
shape!(A B C D E);
shape!(A B C D E F);
shape!(A B C D E F G);
shape!(A B C D E F G H);
