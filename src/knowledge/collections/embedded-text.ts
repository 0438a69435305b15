/** What a vector is made of: the headings say what a passage is about where its own words do not. */
export const embeddedText = ({ heading, text }: { readonly heading: string; readonly text: string }): string =>
  heading === '' ? text : `${heading}\n${text}`
