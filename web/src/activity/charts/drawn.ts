/** A series of a chart. Series never differ by colour alone. */
export interface Drawn {
  readonly key: string
  readonly label: string
  readonly colour: string
  readonly as: 'bar' | 'line'
  /** For bars; filled by default. */
  readonly fill?: 'hatched' | 'outlined' | undefined
  /** For lines: the dash pattern. */
  readonly dash?: string
}
