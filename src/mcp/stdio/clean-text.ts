const ESC = '\\u001b'

/** What a terminal acts on, whole: colours, cursor movements, titles, links; also where the end of it is missing. */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007${ESC}\\u009c\\n]*(?:\\u0007|${ESC}\\\\|\\u009c)?`,
    `${ESC}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
)

/** What is left of control characters then, lone surrogates, and the marks that turn the direction of text. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/gu

/** Text of a stranger without anything that a terminal would act on; lines and tabs stay. */
export function cleanText(text: string): string {
  return text.replace(SEQUENCES, '').replace(/\r\n?/g, '\n').replace(UNSAFE, '')
}
