/** A schema that has grown beyond what a tool may have: it must be cut. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}
