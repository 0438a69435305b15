import { useMutation } from '@tanstack/react-query'
import type { TestedModel } from '../../../src/app/setup/test-model.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { inTime } from '../parts/figures.ts'
import { Chip, Note } from '../parts/states.tsx'
import type { TestedDraft } from './provider-draft.ts'
import { sentence } from './sentence.ts'

/** Tests a model before it is added. A result holds until the form changes. */
export function useModelTest(draft: TestedDraft) {
  const test = useMutation({
    mutationFn: (body: TestedDraft) => requestJson<TestedModel>('/api/setup/models/test', { method: 'POST', body }),
    // The key doesn't stay in the memory of the page.
    gcTime: 0,
  })
  const isTested = JSON.stringify(test.variables) === JSON.stringify(draft)
  const result = isTested ? test.data : undefined
  const error = isTested && !test.isPending ? (test.error?.message ?? result?.error) : undefined
  return {
    start: () => test.mutate(draft),
    testing: test.isPending,
    result: result?.ok ? result : undefined,
    error,
  }
}

interface ModelTestProps {
  readonly test: ReturnType<typeof useModelTest>
  /** The form is complete. */
  readonly ready: boolean
}

/** The button that tests a model, with the outcome. */
export const ModelTest = ({ test: { start, testing, result, error }, ready }: ModelTestProps) => (
  <div className="grid grid-cols-1 gap-2">
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Button disabled={!ready || testing} onClick={start}>
        {testing ? 'Testing …' : 'Test'}
      </Button>
      <p role="status" className="text-sm wrap-anywhere">
        {result === undefined ? (
          <span className="text-muted">Sends one short request to the provider.</span>
        ) : (
          <Answered {...result} />
        )}
      </p>
    </div>
    {error !== undefined && (
      <Note tone="bad" role="alert">
        {sentence(error)}
      </Note>
    )}
  </div>
)

const Answered = ({ ms, answer }: TestedModel) => (
  <>
    <Chip tone="good">works</Chip> It answered in {inTime(ms)}
    {answer ? `: “${answer}”` : ', without text.'}
  </>
)
