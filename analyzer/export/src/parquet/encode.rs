//! Columns to pages: the smaller of two encodings, each row group anew.
//!
//! Times and ids in order differ little from row to row, and pack best as differences; depths,
//! counts and numbers of threads are few, and pack best behind a dictionary. Which is which
//! depends on the program that was recorded, so integers are written both ways.

use polars::prelude::{CompatLevel, DataFrame, PolarsError, PolarsResult};
use polars_arrow::array::ArrayRef;
use polars_arrow::datatypes::ArrowDataType;
use polars_parquet::write::{
    CompressedPage, CompressionOptions, DynIter, DynStreamingIterator, Encoding,
    FallibleStreamingIterator, Page, ParquetType, RowGroupIterColumns, StatisticsOptions, Version,
    WriteOptions, array_to_columns, compress, get_dtype_encoding,
};

/// Options for writing: zstd, with statistics of every row group and page.
pub(super) const OPTIONS: WriteOptions = WriteOptions {
    statistics: StatisticsOptions {
        min_value: true,
        max_value: true,
        distinct_count: false,
        null_count: true,
        binary_statistics_truncate_length: None,
    },
    version: Version::V1,
    compression: CompressionOptions::Zstd(None),
    data_page_size: None,
};

type Pages = Vec<CompressedPage>;

/// Compresses `rows` as one row group. `parquet` has the types of its columns.
pub(super) fn row_group(
    rows: &DataFrame,
    parquet: &[ParquetType],
) -> PolarsResult<RowGroupIterColumns<'static, PolarsError>> {
    let mut rows = rows.clone();
    rows.rechunk_mut();
    let mut columns = Vec::with_capacity(parquet.len());
    for batch in rows.iter_chunks(CompatLevel::newest(), false) {
        for (array, parquet) in batch.columns().iter().zip(parquet) {
            columns.extend(smallest(array, parquet)?);
        }
    }
    let columns = columns.into_iter().map(|pages: Pages| {
        Ok(DynStreamingIterator::new(Packed {
            rest: pages.into_iter(),
            page: None,
        }))
    });
    Ok(DynIter::new(columns))
}

struct Packed {
    rest: std::vec::IntoIter<CompressedPage>,
    page: Option<CompressedPage>,
}

impl FallibleStreamingIterator for Packed {
    type Item = CompressedPage;
    type Error = PolarsError;

    fn advance(&mut self) -> PolarsResult<()> {
        self.page = self.rest.next();
        Ok(())
    }

    fn get(&self) -> Option<&CompressedPage> {
        self.page.as_ref()
    }
}

/// A column, or the columns that its type consists of.
struct Column {
    pages: Vec<Pages>,
    /// Length of the pages; for dictionaries, before compression.
    bytes: usize,
}

fn smallest(array: &ArrayRef, parquet: &ParquetType) -> PolarsResult<Vec<Pages>> {
    let usual = pack(array, parquet, &get_dtype_encoding(array.dtype()))?;
    let whole_numbers = matches!(
        array.dtype(),
        ArrowDataType::Int32 | ArrowDataType::Int64 | ArrowDataType::UInt32 | ArrowDataType::UInt64
    );
    if !whole_numbers || array.null_count() == array.len() {
        return Ok(usual.pages);
    }
    let differences = pack(array, parquet, &[Encoding::DeltaBinaryPacked])?;
    Ok(if differences.bytes < usual.bytes {
        differences.pages
    } else {
        usual.pages
    })
}

fn pack(array: &ArrayRef, parquet: &ParquetType, encodings: &[Encoding]) -> PolarsResult<Column> {
    let mut column = Column {
        pages: Vec::new(),
        bytes: 0,
    };
    for encoded in array_to_columns(array, parquet.clone(), OPTIONS, encodings)? {
        let mut pages = Pages::new();
        for page in encoded {
            let page = page?;
            if let Page::Dict(page) = &page {
                column.bytes += page.buffer.len();
            }
            let page = compress(page, Vec::new(), OPTIONS.compression)?;
            if let CompressedPage::Data(page) = &page {
                column.bytes += page.compressed_size();
            }
            pages.push(page);
        }
        column.pages.push(pages);
    }
    Ok(column)
}
