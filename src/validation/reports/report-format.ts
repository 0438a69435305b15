import { extname } from 'node:path'
import { htmlReport } from './html-report.ts'
import { junitReport } from './junit-report.ts'
import type { ValidationReport } from './validation-report.ts'

/** How a report is written, by the ending of its file. */
export const REPORT_FORMATS: ReadonlyMap<string, (report: ValidationReport) => string> = new Map([
  ['.json', (report: ValidationReport) => `${JSON.stringify(report, undefined, 2)}\n`],
  ['.xml', junitReport],
  ['.html', htmlReport],
])

/** The format that a file is written in; undefined where its ending names none. */
export const reportFormat = (file: string): ((report: ValidationReport) => string) | undefined =>
  REPORT_FORMATS.get(extname(file).toLowerCase())
