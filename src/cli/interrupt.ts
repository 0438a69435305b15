const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
type Interruption = keyof typeof EXIT_CODES

/** Turns Ctrl-C into the cancellation of a call; a second one ends the process at once. */
export class Interrupt {
  readonly #controller = new AbortController()
  readonly #listener = (name: Interruption) => this.#interrupt(name)
  /** How the process is to end; undefined as long as nobody has interrupted it. */
  exitCode: number | undefined

  constructor() {
    for (const name of Object.keys(EXIT_CODES)) process.on(name, this.#listener)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  stop(): void {
    for (const name of Object.keys(EXIT_CODES)) process.off(name, this.#listener)
  }

  #interrupt(name: Interruption): void {
    if (this.exitCode !== undefined) process.exit(this.exitCode)
    this.exitCode = EXIT_CODES[name]
    this.#controller.abort()
  }
}
