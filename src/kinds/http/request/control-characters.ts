// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/

/** Whether a text holds a line end, a NUL or another character that is no writing. */
export function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text)
}

/** Whether a text can be the value of a header: what is not ASCII, servers read in more than one way. */
export function isHeaderValue(text: string): boolean {
  return PRINTABLE_ASCII.test(text)
}
