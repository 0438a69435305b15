import { expect, test } from 'vitest'
import type { Rating } from '../../../src/operations/ratings.ts'
import { ratingsOf, ratingText } from './ratings.ts'

const trial = { suite: 's', model: 'm', case: 'c', repetition: 1 }
const rating = (more: Partial<Rating> = {}): Rating => ({
  ...{ id: '1', verdict: 'good', comment: '', by: 'Ada', own: false, at: '' },
  ...more,
})

test('tells the user’s rating from those of others', () => {
  const [own, other] = [rating({ own: true }), rating({ id: '2' })]
  expect(ratingsOf({ run_id: 'r' }, [other, own])).toEqual({ own, others: [other] })
})

test('finds the ratings of a trial', () => {
  const wanted = rating({ trial: { ...trial, repetition: 2 } })
  const subject = { suite_run_id: 'r', trial: { ...trial, repetition: 2 } }
  expect(ratingsOf(subject, [rating({ trial }), wanted, rating()])).toEqual({ own: undefined, others: [wanted] })
})

test('counts in words', () => {
  expect([ratingText({ good: 2, bad: 1 }), ratingText({ good: 0, bad: 1 })]).toEqual(['2 good, 1 bad', '1 bad'])
})
