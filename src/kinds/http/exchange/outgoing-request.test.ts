import { expect, test } from 'vitest'
import { queryNumber, withQuery } from './outgoing-request.ts'

test.each([
  ['/x', 'page', 2, '/x?page=2'],
  ['/x?', 'page', 2, '/x?page=2'],
  ['/x?a=1&b=%20+&c', 'page', 2, '/x?a=1&b=%20+&c&page=2'],
  ['/x?page=1&a=1&page=7', 'page', 2, '/x?a=1&page=2'],
  ['/x?pa%67e=1', 'page', 2, '/x?page=2'],
  ['/x?%zz=1', '%zz', 2, '/x?%25zz=2'],
  ['/x?a=1', 'page[after]', 'a&b=c #é?', '/x?a=1&page%5Bafter%5D=a%26b%3Dc%20%23%C3%A9%3F'],
  ['/x?page%5Bafter%5D=1', 'page[after]', 'z', '/x?page%5Bafter%5D=z'],
  ['/x', 'c', 'lone \ud800', '/x?c=lone%20%EF%BF%BD'],
])('%s with %s=%s is %4$s', (path, name, value, expected) => {
  expect(withQuery(path, name, value)).toBe(expected)
})

test.each([
  ['/x?page=3', 3],
  ['/x?a=1&p%61ge=0', 0],
  ['/x?page=', undefined],
  ['/x?page', undefined],
  ['/x?page=x', undefined],
  ['/x?page=-1', undefined],
  ['/x', undefined],
])('the page of %s is %s', (path, expected) => {
  expect(queryNumber(path, 'page')).toBe(expected)
})
