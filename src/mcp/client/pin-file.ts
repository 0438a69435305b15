import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { PrivateFile } from '../private-file.ts'
import type { PinStore } from './pin-store.ts'

type Pins = Readonly<Record<string, string>>

/** The pins of all servers, in `mcp-pins.json` of the data folder, for this process and for others. */
export class PinFile implements PinStore {
  readonly #file: PrivateFile<Pins>

  constructor(dataFolder: string, clock?: Clock) {
    this.#file = new PrivateFile(join(dataFolder, 'mcp-pins.json'), clock)
  }

  read(server: string): Promise<Pins | undefined> {
    return this.#file.read(server)
  }

  /** Replaces the pins of one server; those of the others stay. */
  async write(server: string, pins: Pins): Promise<void> {
    await this.#file.update(server, () => pins)
  }
}
