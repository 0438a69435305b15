/** Figures that a newer version has written are not guessed at. */
export function checkVersion(found: number, known: number): void {
  if (found !== known) throw new RangeError(`Figures of version ${found}: this version of Toolyard reads ${known}`)
}
