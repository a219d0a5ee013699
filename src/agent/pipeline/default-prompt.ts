/** @module The prompt of an agent that takes one, where the author makes none. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { StepContext } from './step-types.ts'

/** Task, context as JSON, and what was wrong with the last answer. What the context says is data: it is fenced off as JSON. */
export function defaultPrompt(slice: JsonObject, { task, findings, shown }: StepContext): string {
  const parts = [
    ...(task === undefined ? [] : [task]),
    `The context so far, as JSON:\n${JSON.stringify(slice, null, 2)}`,
    ...(shown.omitted.length === 0 ? [] : [`Left out of it: ${shown.omitted.join(', ')}.`]),
  ]
  if (findings.length > 0) {
    const lines = findings.map(
      ({ rule, path, message }) => `- ${rule} at ${path === '' ? 'the whole' : path}: ${message}`,
    )
    parts.push(`Your last answer was refused. Mend this:\n${lines.join('\n')}`)
  }
  return parts.join('\n\n')
}
