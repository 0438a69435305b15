import { queryOptions } from '@tanstack/react-query'
import type { RatedTrial, Rating } from '../../../src/operations/ratings.ts'
import { requestJson } from '../api/request.ts'

/** What is rated: the answer of a run, or of a trial of a suite run. */
export type RatedSubject = { readonly run_id: string } | { readonly suite_run_id: string; readonly trial: RatedTrial }

const runOf = (subject: RatedSubject): Readonly<Record<string, string>> =>
  'run_id' in subject ? { run_id: subject.run_id } : { suite_run_id: subject.suite_run_id }

/** All ratings of a run or of a suite run. */
export const ratingsQuery = (subject: RatedSubject) =>
  queryOptions({
    queryKey: ['ratings', runOf(subject)],
    queryFn: ({ signal }) =>
      requestJson<{ ratings: Rating[] }>(`/api/ratings?${new URLSearchParams({ ...runOf(subject), limit: '1000' })}`, {
        signal,
      }),
    select: ({ ratings }) => ratings,
    staleTime: 60_000,
  })

/** The ratings of one answer: the user's own, and those of others. */
export function ratingsOf(subject: RatedSubject, ratings: readonly Rating[]) {
  const about = 'trial' in subject ? ratings.filter(({ trial }) => isSame(trial, subject.trial)) : ratings
  return { own: about.find(({ own }) => own), others: about.filter(({ own }) => !own) }
}

const isSame = (one: RatedTrial | undefined, other: RatedTrial): boolean =>
  one !== undefined &&
  one.suite === other.suite &&
  one.model === other.model &&
  one.case === other.case &&
  one.repetition === other.repetition

/** `2 good, 1 bad`. */
export const ratingText = ({ good, bad }: { readonly good: number; readonly bad: number }): string =>
  [...(good > 0 ? [`${good} good`] : []), ...(bad > 0 ? [`${bad} bad`] : [])].join(', ')
