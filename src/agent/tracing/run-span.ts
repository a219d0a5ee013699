/** @module The span of a run, from its start to its end in this process (RUN-72). */
import { currentExecution } from '../runtime/execution-context.ts'
import { rootSpan } from './open-telemetry.ts'
import { spanned } from './spanned.ts'
import type { SpanAttributes, TraceSpan } from './trace-span.ts'

/** A child of the current call's span, or of the trace named by the caller, or of the active span. */
export async function inRunSpan<T>(
  { name, traceparent, attributes }: { name: string; traceparent?: string | undefined; attributes?: SpanAttributes },
  work: (span: TraceSpan | undefined) => Promise<T>,
): Promise<T> {
  const start = {
    name: `invoke_workflow ${name}`,
    kind: 'internal',
    attributes: { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': name, ...attributes },
  } as const
  const around = traceparent === undefined ? currentExecution()?.span : undefined
  const span = around === undefined ? await rootSpan(start, traceparent) : around.child(start)
  if (span === undefined) return work(undefined)
  return spanned(span, () => span.within(() => work(span)))
}
