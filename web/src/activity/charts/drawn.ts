/** A series of a chart. Series never differ by colour alone. */
export interface Drawn {
  readonly key: string
  readonly label: string
  readonly colour: string
  readonly as: 'bar' | 'line'
  /** For bars: hatched. */
  readonly hatched?: boolean
  /** For lines: the dash pattern. */
  readonly dash?: string
}
