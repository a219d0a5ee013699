/** @module The span of a handoff. The semantic conventions have no such operation, so the span's name describes it (RUN-72). */
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { inSpan } from '../tracing/call-span.ts'
import type { HandoffResult } from './handoff-types.ts'

/** `seen.served` is set during the work if the handoff is served from the record. */
export function inHandoffSpan(
  execution: ExecutionContext,
  { agent, seen }: { readonly agent: string; readonly seen: { readonly served: boolean } },
  work: () => Promise<HandoffResult>,
): Promise<HandoffResult> {
  const attributes = { 'gen_ai.agent.name': agent, 'gen_ai.conversation.id': execution.session.runId }
  return inSpan(execution, { name: `handoff ${agent}`, kind: 'internal', attributes }, work, (result) => {
    const replayed = { 'countersign.replayed': seen.served ? true : undefined }
    if (result === undefined) return { attributes: replayed }
    if (!result.ok)
      return { attributes: { ...replayed, 'countersign.findings': result.findings.length }, failure: 'contradiction' }
    const { step, confidence } = result.envelope
    return { attributes: { ...replayed, 'countersign.step': step, 'countersign.confidence': confidence } }
  })
}
