import type { ModelMetrics } from '../../../core/storage/metrics.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

interface TenantSum {
  calls: number
  runs: number
  priced: number
  cost: number
}

/** What each tenant did, in a few numbers: kept with the sum over all tenants, so that nobody has to read them all. */
export class TenantSums {
  readonly #sums = new Map<string, TenantSum>()

  call(tenant: string): void {
    this.#of(tenant).calls++
  }

  run(tenant: string, cost: number | null): void {
    const sum = this.#of(tenant)
    sum.runs++
    if (cost === null) return
    sum.priced++
    sum.cost += cost
  }

  write(to: ByteWriter): void {
    to.whole(this.#sums.size)
    for (const [tenant, { calls, runs, priced, cost }] of this.#sums) {
      to.text(tenant)
      to.whole(calls)
      to.whole(runs)
      to.whole(priced)
      to.number(cost)
    }
  }

  /** Adds what `write` wrote. */
  read(from: ByteReader): void {
    for (let left = from.whole(); left > 0; left--) {
      const sum = this.#of(from.text())
      sum.calls += from.whole()
      sum.runs += from.whole()
      sum.priced += from.whole()
      sum.cost += from.number()
    }
  }

  figures(): NonNullable<ModelMetrics['tenants']> {
    return Object.fromEntries(
      Array.from(this.#sums, ([tenant, { calls, runs, priced, cost }]) => [
        tenant,
        { calls, runs, cost: priced === 0 ? null : cost },
      ]),
    )
  }

  #of(tenant: string): TenantSum {
    let sum = this.#sums.get(tenant)
    if (sum === undefined) {
      sum = { calls: 0, runs: 0, priced: 0, cost: 0 }
      this.#sums.set(tenant, sum)
    }
    return sum
  }
}
