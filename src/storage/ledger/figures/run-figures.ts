import type { ModelFigures } from '../../../core/storage/metrics.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import { checkVersion } from './check-version.ts'
import type { Figures } from './figures.ts'
import { RunSeries } from './run-series.ts'
import { TenantSums } from './tenant-sums.ts'

const VERSION = 1

/** The runs of one tenant, by model; in the sum over all tenants also what each of them did. */
export class RunFigures implements Figures {
  readonly #models = new Map<string, RunSeries>()
  readonly tenants = new TenantSums()
  readonly #nameOf: (model: string) => string

  /** `nameOf` says under which name a model is counted that is merged: several under one are added up. */
  constructor(nameOf: (model: string) => string = (model) => model) {
    this.#nameOf = nameOf
  }

  find(model: string): RunSeries | undefined {
    return this.#models.get(model)
  }

  of(model: string): RunSeries {
    let series = this.#models.get(model)
    if (series === undefined) {
      series = new RunSeries()
      this.#models.set(model, series)
    }
    return series
  }

  encode(): Uint8Array {
    const to = new ByteWriter()
    to.byte(VERSION)
    to.whole(this.#models.size)
    for (const [model, series] of this.#models) {
      to.text(model)
      series.write(to)
    }
    this.tenants.write(to)
    return to.bytes()
  }

  merge(data: Uint8Array): void {
    const from = new ByteReader(data)
    checkVersion(from.byte(), VERSION)
    for (let left = from.whole(); left > 0; left--) this.of(this.#nameOf(from.text())).read(from)
    this.tenants.read(from)
  }

  figures(): Readonly<Record<string, ModelFigures>> {
    return Object.fromEntries(Array.from(this.#models, ([model, series]) => [model, series.figures()]))
  }
}
