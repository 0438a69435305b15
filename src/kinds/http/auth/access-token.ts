/** A token as an authorization server gave it. */
export class AccessToken {
  readonly value: string
  readonly header: string
  /** By the clock of durations: from then on it is not sent any more. */
  readonly expires: number
  /** How many requests it was given to. */
  uses = 0

  constructor(value: string, expires: number) {
    this.value = value
    this.header = `Bearer ${value}`
    this.expires = expires
  }
}
