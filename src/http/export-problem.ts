/** @module A refused export as a problem. */
import type { ExportRefusal } from '../export/export-refusal.ts'
import { type Problem, problem } from './problems.ts'

export function problemOfExport(why: ExportRefusal): Problem {
  return why.code === 'refused' ? why.refusal : problem(why.code, why.detail)
}
