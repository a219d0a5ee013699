/** @module The work of a span, and what it says of an error: its code or its class, and no text of its message, which may hold what the call was about. */
import { RunWaiting } from '../errors.ts'
import type { SpanAttributes, TraceSpan } from './trace-span.ts'

/** `error.type`; undefined for what is no failure: a run that waits goes on later. */
export function failureTypeOf(error: unknown): string | undefined {
  if (error instanceof RunWaiting) return undefined
  if (!(error instanceof Error)) return '_OTHER'
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && code !== '' ? code : error.name
}

/** Carries out the work of a span, and ends it. */
export async function spanned<T>(
  span: TraceSpan,
  work: () => Promise<T>,
  describe?: (value?: T) => { readonly attributes: SpanAttributes; readonly failure?: string | undefined },
): Promise<T> {
  let value: T | undefined
  let failure: string | undefined
  try {
    value = await work()
    return value
  } catch (error) {
    failure = failureTypeOf(error)
    throw error
  } finally {
    const end = describe?.(value)
    if (end !== undefined) span.set(end.attributes)
    span.end(failure ?? end?.failure)
  }
}
