/** @module The default prompt for an agent that takes a prompt. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Finding, OpenSuspect } from './handoff-types.ts'
import type { StepContext } from './step-types.ts'

const FINDINGS_SHOWN_MAX = 20
const VALUE_MAX_CHARS = 300

/**
 * Returns the task, the context as JSON, and the errors of the last answer. The context is data: it is enclosed as JSON.
 * @example
 * ```ts
 * import { defaultPrompt, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const chain = { invoke: async (prompt: string) => ({ summary: `${prompt.length} characters were read` }) }
 * await cs.run({ name: 'report' }, async (run) => {
 *   await run.step('writer', chain, { task: 'Write a summary.', input: defaultPrompt })
 * })
 * ```
 */
export function defaultPrompt(slice: JsonObject, { task, findings, shown, suspects = [] }: PromptContext): string {
  const parts = [
    ...(task === undefined ? [] : [task]),
    `The context so far, as JSON:\n${JSON.stringify(slice, null, 2)}`,
    ...(shown.omitted.length === 0 ? [] : [`Left out of it: ${shown.omitted.join(', ')}.`]),
    ...doubts(suspects),
    ...repairs(findings),
  ]
  return parts.join('\n\n')
}

const SUPERSEDES = `Where a value was right as it was established, give that one again. Where it has truly changed, keep your new value and say why, beside it in your answer:
"$supersedes": [{"path": "<the path>", "reason": "<what changed it, and who says so>"}]`

const MOVES = `Where the place is no fact but bookkeeping of your own, which changes at each step, declare once how it moves, beside it in your answer:
"$moves": [{"path": "<the path>", "as": "<the kind>", "reason": "<what it keeps track of>"}]
Declare nothing that says something of the task itself.`

type PromptContext = Pick<StepContext, 'task' | 'findings' | 'shown'> & Partial<Pick<StepContext, 'suspects'>>

/** Unexplained changes by earlier agents, which the agent should verify. */
function doubts(suspects: readonly OpenSuspect[]): readonly string[] {
  const named = suspects.filter(({ path }) => path !== '')
  if (named.length === 0) return []
  const lines = named.map(({ path, agent, before, after }) => {
    const values = [
      ...(before === undefined ? [] : [`before: ${valueText(before)}`]),
      ...(after === undefined ? [] : [`now: ${valueText(after)}`]),
    ]
    return `- ${path}, by ${agent}${values.length === 0 ? '' : ` (${values.join('; ')})`}`
  })
  return [`${SUSPECTS}\n${lines.join('\n')}`]
}

const SUSPECTS = `These values were changed without an explanation. Do not rely on them without a source of your own. Where one is wrong, give the right value and say so beside it in your answer ("$supersedes"):`

/** Only errors are listed, because warnings alone do not refuse a handoff. */
function repairs(findings: readonly Finding[]): readonly string[] {
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return []
  const lines = errors.slice(0, FINDINGS_SHOWN_MAX).map(lineOf)
  if (errors.length > lines.length) lines.push(`- and ${errors.length - lines.length} more of this kind.`)
  const says = [`Your last answer was refused. Give it again, with this mended:\n${lines.join('\n')}`]
  if (errors.some(({ supersede }) => supersede !== undefined)) says.push(SUPERSEDES)
  if (errors.some(({ declare }) => declare !== undefined)) says.push(MOVES)
  return says
}

function lineOf({ rule, path, inHandoff, before, after, message, declare }: Finding): string {
  const values = [
    ...(before === undefined ? [] : [`established: ${valueText(before)}`]),
    ...(after === undefined ? [] : [`you gave: ${valueText(after)}`]),
  ]
  const shown = values.length === 0 ? '' : ` (${values.join('; ')})`
  const moves =
    declare === undefined ? '' : ` It could be declared: {"path": "${declare.path}", "as": "${declare.as}"}.`
  const place = `${path === '' ? 'the whole' : path}${inAnswer(path, inHandoff)}`
  return `- ${rule} at ${place}: ${message}${shown}${moves}`
}

/** The place in the answer, if it differs from that in the context. An answer is the payload, and has what it adds under `$add`. */
function inAnswer(path: string, inHandoff: string | undefined): string {
  const place = inHandoff?.replace(/^\/(payload|add)/, (root) => (root === '/add' ? '/$add' : ''))
  return place === undefined || place === path ? '' : ` (in your answer at ${place})`
}

function valueText(value: Json): string {
  const text = JSON.stringify(value)
  return text.length <= VALUE_MAX_CHARS ? text : `${text.slice(0, VALUE_MAX_CHARS)}…`
}
