/** A call as it was read from a text: nobody knows yet whether there is such a tool. */
export interface PrintedCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  /** The values came as text, and what type they have is the schema's to say. */
  readonly untyped?: true
}
