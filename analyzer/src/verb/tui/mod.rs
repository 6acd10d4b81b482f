pub fn tui(
    _: &crate::cli::TuiArgs,
    _: crate::report::style::Palette,
    _: &super::talk::Talk,
) -> anyhow::Result<u8> {
    todo!()
}
