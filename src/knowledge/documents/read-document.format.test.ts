import { expect, test } from 'vitest'
import { documentFormat, looksLike } from './read-document.ts'

const format = (name: string, content = '', mediaType?: string) =>
  documentFormat(name, Buffer.from(content, 'latin1'), mediaType)

test.each([
  ['a.md', 'markdown'],
  ['A.MD', 'markdown'],
  ['a.txt', 'text'],
  ['src/a.ts', 'code'],
  ['a.jsonl', 'json'],
  ['a.tsv', 'csv'],
  ['a.htm', 'html'],
  ['a.pdf', 'pdf'],
  ['Makefile', 'code'],
  ['.gitignore', 'code'],
  ['README', 'text'],
  ['a.unknown', 'text'],
  ['', 'text'],
])('%s is %s', (name, expected) => {
  expect(format(name)).toBe(expected)
})

test('detects a PDF by its content', () => {
  expect(format('a.txt', '%PDF-1.7')).toBe('pdf')
  expect(format('a.md', 'A PDF begins with %PDF-')).toBe('markdown')
})

test('prefers a specific media type to the name', () => {
  expect(format('a.txt', '', 'text/html; charset=utf-8')).toBe('html')
  expect(format('a', '', 'application/vnd.api+json')).toBe('json')
  expect(format('a.md', '', 'text/plain')).toBe('markdown')
  expect(format('a.md', '', 'application/octet-stream')).toBe('markdown')
  expect(format('a.md', '', '')).toBe('markdown')
})

test('detects HTML and scripts by their first bytes', () => {
  expect(format('page', '\xef\xbb\xbf\n<!-- hello -->\n<!DOCTYPE html>')).toBe('html')
  expect(format('page', '<html lang="en">')).toBe('html')
  expect(format('page', 'text about <html>')).toBe('text')
  expect(format('run', '#!/bin/sh\n')).toBe('code')
})

test.each([
  ['\x89PNG\r\n\x1a\n', 'a PNG image'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['\x7fELF\x02', 'a program'],
  ['MZ\x90\0', 'a program'],
  ['{\\rtf1 Hello}', 'a rich text file: save it as PDF or HTML'],
  ['\0\0\0\x18ftypmp42', 'an MP4 video or a HEIC image'],
  ['RIFF\0\0\0\0WAVE', 'a sound, a video or a WebP image'],
])('%j looks like %s', (head, what) => {
  expect(looksLike(Buffer.from(head, 'latin1'), 'txt')).toBe(what)
})

test('detects a Word document by its extension', () => {
  expect(looksLike(Buffer.from('PK\x03\x04'), 'docx')).toBe('a Word document: save it as PDF or HTML')
})

test.each(['RIFF is a format.', 'MZ is a mark.', 'BM', 'ID3 tags', 'GIF89a explained', 'Plain.', ''])(
  '%j looks like text',
  (text) => {
    expect(looksLike(Buffer.from(text), 'txt')).toBeUndefined()
  },
)
