import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Rating } from '../../../src/operations/ratings.ts'
import { request, requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { inDate } from '../parts/figures.ts'
import { ThumbDownIcon, ThumbUpIcon } from '../parts/icons.tsx'
import { Chip, Note } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { type RatedSubject, ratingsOf, ratingsQuery } from './ratings.ts'

type Verdict = Rating['verdict']

/** Marks an answer as good or bad, with a comment, and shows what others think of it. */
export function RateAnswer({ subject }: { readonly subject: RatedSubject }) {
  const client = useQueryClient()
  const { queryKey } = ratingsQuery(subject)
  const { data = [] } = useQuery(ratingsQuery(subject))
  const { own, others } = ratingsOf(subject, data)
  const [draft, setDraft] = useState<string>()
  const refresh = () => {
    void client.invalidateQueries({ queryKey })
    void client.invalidateQueries({ queryKey: ['list', '/api/runs'] })
  }
  const rate = useMutation({
    mutationFn: (given: { readonly verdict: Verdict; readonly comment: string }) =>
      requestJson<Rating>('/api/ratings', { method: 'PUT', body: { ...subject, ...given } }),
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: ({ id }: Rating) => request(`/api/ratings/${id}`, { method: 'DELETE' }),
    onSuccess: (_answer, { verdict, comment }) =>
      toast({ text: 'Removed your rating', undo: () => rate.mutate({ verdict, comment }) }),
    onSettled: refresh,
  })
  // What was just clicked, before the server has answered.
  const verdict = rate.isPending ? rate.variables.verdict : remove.isPending ? undefined : own?.verdict
  const choose = (next: Verdict) => {
    if (own !== undefined && own.verdict === next) {
      setDraft(undefined)
      remove.mutate(own)
      return
    }
    setDraft(own?.comment ?? '')
    rate.mutate({ verdict: next, comment: own?.comment ?? '' })
  }
  const save = () => {
    if (verdict !== undefined && draft !== undefined) rate.mutate({ verdict, comment: draft.trim() })
    setDraft(undefined)
  }
  const error = rate.error ?? remove.error
  return (
    <div className="min-w-0 text-sm">
      <fieldset className="flex flex-wrap items-center gap-2">
        <legend className="sr-only">Rate the answer</legend>
        {(['good', 'bad'] as const).map((one) => (
          <Button
            key={one}
            aria-pressed={verdict === one}
            className="aria-pressed:border-accent aria-pressed:bg-sunk"
            onClick={() => choose(one)}
          >
            {one === 'good' ? <ThumbUpIcon /> : <ThumbDownIcon />} {one === 'good' ? 'Good' : 'Bad'}
            <span className="sr-only"> answer</span>
          </Button>
        ))}
        {verdict !== undefined && draft === undefined && (
          <>
            {own?.comment && <span className="min-w-0 wrap-anywhere">“{own.comment}”</span>}
            <Button look="quiet" onClick={() => setDraft(own?.comment ?? '')}>
              {own?.comment ? 'Edit comment' : 'Add a comment'}
            </Button>
          </>
        )}
      </fieldset>
      {draft !== undefined && (
        <form
          className="mt-2 flex flex-wrap gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            save()
          }}
        >
          <input
            aria-label="Comment on the answer"
            placeholder="Why? (optional)"
            className="field min-w-48 flex-1"
            maxLength={2_000}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={({ key }) => key === 'Escape' && setDraft(undefined)}
          />
          <Button type="submit">Save comment</Button>
        </form>
      )}
      {error && (
        <div className="mt-2">
          <Note tone="bad" role="alert">
            {error.message}
          </Note>
        </div>
      )}
      {others.length > 0 && (
        <ul className="mt-2 grid gap-1" aria-label="Ratings of others">
          {others.map((rating) => (
            <li key={`${rating.by} ${rating.at}`} className="flex flex-wrap items-baseline gap-x-2">
              <Chip tone={rating.verdict}>{rating.verdict}</Chip>
              <span className="font-medium">{rating.by}</span>
              <time dateTime={rating.at} className="text-xs text-muted">
                {inDate(rating.at)}
              </time>
              {rating.comment !== '' && <span className="min-w-0 wrap-anywhere">“{rating.comment}”</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
