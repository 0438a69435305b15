/** One thing that is drawn. No two of a chart differ by colour alone. */
export interface Drawn {
  readonly key: string
  readonly label: string
  readonly colour: string
  readonly as: 'bar' | 'line'
  /** Of a bar: hatched. */
  readonly hatched?: boolean
  /** Of a line: how it is broken. */
  readonly dash?: string
}
