//! Routines of BLAS and LAPACK that are recorded, and where their sizes stand among the arguments.

/// Element type of a matrix, as the first letter of routine names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Precision {
    /// `f32`.
    S,
    /// `f64`.
    D,
    /// Complex of `f32`.
    C,
    /// Complex of `f64`.
    Z,
}

impl Precision {
    pub const ALL: [Self; 4] = [Self::S, Self::D, Self::C, Self::Z];

    pub fn letter(self) -> char {
        ['s', 'd', 'c', 'z'][self as usize]
    }

    pub const fn is_complex(self) -> bool {
        matches!(self, Self::C | Self::Z)
    }

    pub const fn bytes(self) -> usize {
        [4, 8, 8, 16][self as usize]
    }

    pub fn number(self) -> &'static str {
        ["f32", "f64", "f32", "f64"][self as usize]
    }
}

/// Positions of arguments, counted from 0 as in the Fortran interface.
struct Arguments {
    sizes: &'static [u8],
    side: Option<u8>,
    beta: Option<u8>,
    /// Length of the workspace: −1 queries the best length, and nothing is computed.
    workspace: Option<u8>,
    /// True if the C interface has the element order as an additional first argument.
    has_order: bool,
}

const fn blas(sizes: &'static [u8], side: Option<u8>, beta: Option<u8>) -> Arguments {
    Arguments {
        sizes,
        side,
        beta,
        workspace: None,
        has_order: true,
    }
}

const fn vectors() -> Arguments {
    Arguments {
        has_order: false,
        ..blas(&[0], None, None)
    }
}

const fn lapack(sizes: &'static [u8], workspace: Option<u8>) -> Arguments {
    Arguments {
        workspace,
        ..blas(sizes, None, None)
    }
}

macro_rules! routines {
    ($($routine:ident $name:literal $arguments:expr,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Routine {
            $($routine,)*
        }

        impl Routine {
            pub const ALL: &[Self] = &[$(Self::$routine,)*];
            const NAMES: &[&str] = &[$($name,)*];
            const ARGUMENTS: &[Arguments] = &[$($arguments,)*];
        }
    };
}

routines! {
    Gemm "gemm" blas(&[2, 3, 4], None, Some(10)),
    Gemv "gemv" blas(&[1, 2], None, Some(8)),
    Ger "ger" blas(&[0, 1], None, None),
    Symm "symm" blas(&[2, 3], Some(0), Some(9)),
    Syrk "syrk" blas(&[2, 3], None, Some(7)),
    Trmm "trmm" blas(&[4, 5], Some(0), None),
    Trsm "trsm" blas(&[4, 5], Some(0), None),
    Dot "dot" vectors(),
    Axpy "axpy" vectors(),
    Getrf "getrf" lapack(&[0, 1], None),
    Getrs "getrs" lapack(&[1, 2], None),
    Getri "getri" lapack(&[0], Some(5)),
    Gesv "gesv" lapack(&[0, 1], None),
    Potrf "potrf" lapack(&[1], None),
    Potrs "potrs" lapack(&[1, 2], None),
    Potri "potri" lapack(&[1], None),
    Posv "posv" lapack(&[1, 2], None),
    Geqrf "geqrf" lapack(&[0, 1], Some(6)),
    Orgqr "orgqr" lapack(&[0, 1, 2], Some(7)),
    Ungqr "ungqr" lapack(&[0, 1, 2], Some(7)),
    Trtrs "trtrs" lapack(&[3, 4], None),
    Gesdd "gesdd" lapack(&[1, 2], Some(11)),
    Gesvd "gesvd" lapack(&[2, 3], Some(12)),
    Syevd "syevd" lapack(&[2], Some(7)),
    Heevd "heevd" lapack(&[2], Some(7)),
    Geev "geev" lapack(&[2], Some(12)),
    Gelsd "gelsd" lapack(&[0, 1, 2], Some(11)),
}

impl Routine {
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    const fn arguments(self) -> &'static Arguments {
        &Self::ARGUMENTS[self as usize]
    }

    /// Positions of its sizes: m, n and k in the routine's terms; for solvers, n and the number of right-hand
    /// sides.
    pub const fn sizes(self) -> &'static [u8] {
        self.arguments().sizes
    }

    pub const fn side(self) -> Option<u8> {
        self.arguments().side
    }

    pub const fn beta(self) -> Option<u8> {
        self.arguments().beta
    }

    pub const fn workspace(self) -> Option<u8> {
        self.arguments().workspace
    }

    pub const fn has_order(self) -> bool {
        self.arguments().has_order
    }
}
