import type { MetricWindow, ModelFigures, ModelMetrics } from '../core/storage/ledger.ts'
import type { ValidationStore } from '../core/storage/validation-store.ts'

const HOUR = 60 * 60_000
const WINDOWS: Readonly<Record<MetricWindow, number>> = { '1h': HOUR, '24h': 24 * HOUR, '7d': 7 * 24 * HOUR }

/** The figures of a model, with how often it did in tests what was expected of it; null where it was not tested. */
type Judged = ModelFigures & { readonly selection_accuracy: number | null }

/** Adds what the tests of a tenant in the window say. Tests are a tenant's own: of all together nothing is said. */
export async function withSelectionAccuracy(
  metrics: ModelMetrics,
  validations: ValidationStore,
  { tenant, now }: { readonly tenant: string | undefined; readonly now: number },
): Promise<ModelMetrics & { readonly models: Readonly<Record<string, Judged>> }> {
  const from = now - WINDOWS[metrics.window]
  const accuracies = new Map<string, number>()
  for (const { model_id, test_history } of tenant === undefined ? [] : await validations.list(tenant)) {
    const tests = test_history.filter(({ timestamp }) => Date.parse(timestamp) >= from)
    const passed = tests.filter(({ success }) => success).length
    if (tests.length > 0) accuracies.set(model_id, passed / tests.length)
  }
  const models = Object.entries(metrics.models).map(([id, figures]) => [
    id,
    { ...figures, selection_accuracy: accuracies.get(id) ?? null },
  ])
  return { ...metrics, models: Object.fromEntries(models) }
}
