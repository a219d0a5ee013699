/** @module A refused export as a problem. */
import type { ExportRefusal } from '../export/export-refusal.ts'
import { type Problem, problem } from './problems.ts'

export function problemOfExport(why: ExportRefusal): Problem {
  if (why.code === 'refused') return why.refusal
  return problem(why.code, why.detail, why.code === 'beyond-log' ? { evidence: { treeSize: why.treeSize } } : {})
}
