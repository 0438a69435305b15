/** What files of other kinds begin with, as Latin-1, and what they are. */
const SIGNATURES: readonly (readonly [start: string, what: string])[] = [
  ['\x89PNG', 'a PNG image'],
  ['\xff\xd8\xff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['II*\0', 'a TIFF image'],
  ['MM\0*', 'a TIFF image'],
  ['\0\0\x01\0', 'an icon'],
  ['RIFF', 'a sound, a video or a WebP image'],
  ['OggS', 'an Ogg sound or video'],
  ['fLaC', 'a FLAC sound'],
  ['ID3', 'an MP3 sound'],
  ['\x1aE\xdf\xa3', 'a Matroska or WebM video'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['PK\x05\x06', 'an empty ZIP archive'],
  ['\x1f\x8b', 'a gzip archive'],
  ['BZh', 'a bzip2 archive'],
  ['\xfd7zXZ', 'an xz archive'],
  ["7z\xbc\xaf'\x1c", 'a 7-Zip archive'],
  ['\x28\xb5\x2f\xfd', 'a Zstandard archive'],
  ['Rar!\x1a', 'a RAR archive'],
  ['\x7fELF', 'a program'],
  ['\xca\xfe\xba\xbe', 'a program'],
  ['\xcf\xfa\xed\xfe', 'a program'],
  ['\0asm', 'a WebAssembly program'],
  ['SQLite format 3\0', 'an SQLite database'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'a file of an old Microsoft Office: save it as PDF'],
  ['{\\rtf', 'a rich text file: save it as PDF or HTML'],
  ['%!PS', 'a PostScript file: save it as PDF'],
  ['PAR1', 'a Parquet table'],
  ['wOFF', 'a font'],
  ['wOF2', 'a font'],
  ['OTTO', 'a font'],
  ['\0\x01\0\0', 'a font'],
]

/** Documents that are ZIP archives inside, by the ends of their names. */
const ZIPPED: Readonly<Record<string, string>> = {
  docx: 'a Word document: save it as PDF or HTML',
  xlsx: 'an Excel workbook: save its sheets as CSV',
  pptx: 'a PowerPoint presentation: save it as PDF',
  odt: 'an OpenDocument text: save it as PDF or HTML',
  ods: 'an OpenDocument spreadsheet: save its sheets as CSV',
  epub: 'an EPUB book: save it as PDF or HTML',
}

/** Such a start is also that of ordinary words, so that it counts only where the file is not text. */
const WORDS = new Set(['RIFF', 'ID3', 'BZh', 'PAR1', 'OTTO', 'OggS', 'fLaC', 'GIF8', 'wOFF', 'wOF2'])

/** What a file that is no text looks like, by how it begins; undefined where it may be text. */
export function looksLike(head: Uint8Array, extension: string): string | undefined {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 4096)).toString('latin1')
  for (const [signature, what] of SIGNATURES) {
    if (!start.startsWith(signature)) continue
    if (WORDS.has(signature) && !start.includes('\0')) continue
    return what === 'a ZIP archive' ? (ZIPPED[extension] ?? what) : what
  }
  if (start.startsWith('ftyp', 4)) return 'an MP4 video or a HEIC image'
  if (start.startsWith('ustar', 257)) return 'a tar archive'
  if (start.startsWith('MZ') && start.includes('\0')) return 'a program'
  if (start.startsWith('BM') && start.includes('\0')) return 'a bitmap image'
  return undefined
}
