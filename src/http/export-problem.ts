/** @module A refused export as a problem. */
import type { ExportRefusal } from '../export/export-refusal.ts'
import { type Problem, problem } from './problems.ts'

export function problemOfExport(refused: ExportRefusal): Problem {
  if (refused.code === 'refused') return refused.refusal
  return problem(
    refused.code,
    refused.detail,
    refused.code === 'beyond-log' ? { evidence: { treeSize: refused.treeSize } } : {},
  )
}
