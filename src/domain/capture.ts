/** @module Records capture gaps and tool definitions that a capture entry point reports in addition to its calls. Pure. */
import type { RunState } from '../../projections/run-state.ts'
import type { RecordCapture } from '../../schemas/capture.ts'
import { plain } from '../../schemas/plain.ts'
import { append, type Decision, mustBeOpen, refuse } from './decision.ts'

export function decideCapture(state: RunState, { gap, definitions }: RecordCapture): Decision {
  const closed = mustBeOpen(state)
  if (closed !== undefined) return refuse(closed)
  return append(
    ...(gap === undefined ? [] : [{ type: 'CaptureGap' as const, data: { v: 1 as const, ...gap } }]),
    ...(definitions === undefined
      ? []
      : [{ type: 'ToolDefinitionsSeen' as const, data: { v: 1 as const, ...plain(definitions) } }]),
  )
}
