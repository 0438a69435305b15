import { expect, test } from 'vitest'
import { directedPieces, directionFits } from './direction.ts'
import { numberFits } from './number-fits.ts'
import { type Parameter, readParameters } from './parameter.ts'

const parameter = (name: string, description = ''): Parameter =>
  readParameters({ type: 'object', properties: { [name]: { type: 'number', description } } })[0] as Parameter
const at = (said: string, piece: string) => ({
  score: 0,
  from: said.indexOf(piece),
  to: said.indexOf(piece) + piece.length,
})

test.each([
  ['weight_kg', '165 cm and 60 kilos', '60', 1],
  ['weight_kg', '165 cm and 60 kilos', '165', -1],
  ['sets', '3 sets of 10 reps', '3', 1],
  ['sets', '3 sets of 10 reps', '10', 0],
  ['amount', 'pay $45 in 3 days', '45', 1],
  ['days', 'pay $45 in 3 days', '45', -1],
  ['level', 'set it to 30', '30', 0],
  ['end', 'first 3 characters of elephant', '3', 1],
  ['start', 'first 3 characters of elephant', '3', -1],
  ['start', 'the last 2 letters', '2', 1],
])('%s in "%s": %s fits by sign %d', (name, said, piece, sign) => {
  expect(Math.sign(numberFits(parameter(name), at(said, piece), said))).toBe(sign)
})

test('"from" and "to" say which end is which', () => {
  const said = 'move it from Leeds to York'
  expect(directionFits('origin', said, said.indexOf('Leeds'))).toBe(1)
  expect(directionFits('destination', said, said.indexOf('Leeds'))).toBe(-1)
  expect(directionFits('city', said, said.indexOf('Leeds'))).toBe(0)
  const pieces = (name: string) => directedPieces(name, said).map(({ from, to }) => said.slice(from, to))
  expect(pieces('start')).toEqual(['Leeds'])
  expect(pieces('end')).toEqual(['York'])
  expect(pieces('city')).toEqual([])
})
