/** Text as it is kept: lines ended by `\n`, well formed, and without NUL, which databases refuse. */
export function cleanText(text: string): string {
  let clean = text
  if (clean.includes('\r')) clean = clean.replaceAll(/\r\n?/g, '\n')
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '\ufffd')
  return clean.toWellFormed()
}
