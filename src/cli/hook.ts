/**
 * @module `countersign hook`: runs as one hook of a coding agent. Standard output is one JSON text or empty, and the agent gets its answer in time in every
 * case.
 */
import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { type HookDecision, hookAnswer } from '../capture/hook/hook-answer.ts'
import { HookCalls, type HookOptions } from '../capture/hook/hook-calls.ts'
import { type HookInput, readHookInput } from '../capture/hook/hook-input.ts'
import { HookNotes } from '../capture/hook/hook-notes.ts'
import { runIdOf } from '../capture/hook/hook-run.ts'
import { secretsOf } from '../capture/recorded-form.ts'
import { ledgerAway, reasonOfError } from '../capture/texts.ts'
import { jsonDigest } from '../signing/digests.ts'
import type { Arguments } from './arguments.ts'
import { effectsOf, ledgerOf } from './capture-options.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { nameOf, runIdOf as runFlag } from './name-flags.ts'
import { oneLine } from './shown.ts'

const WITHIN_DEFAULT = '25'
/** Reserve, in milliseconds, for passing the answer to the agent, and for a busy machine. */
const SPARE_MS = 400
const ANSWER_MS = 8_000
const PATIENCE_MS = 1_500
const INPUT_MAX_BYTES = 32 * 1024 * 1024
const LAST_MS = 50
/** Exit code that both hosts treat as a refusal, for cases without an answer in their format. */
const BLOCKS = EXIT.usage

type Recorded = Extract<HookInput, { readonly session: string }>

export async function hook(args: Arguments): Promise<number> {
  const options = optionsOf(args)
  let said: HookInput | undefined
  // If anything blocks this process, the agent still gets an answer: a refusal.
  const watch = setTimeout(
    () => {
      process.stderr.write('countersign hook: there was no answer in time\n')
      const text = said === undefined ? undefined : denial(said, 'Not run: the hook found no answer in time.')
      process.stdout.write(text ?? '', () => process.exit(said === undefined ? BLOCKS : EXIT.ok))
    },
    options.leftMs() + SPARE_MS / 2,
  )
  const input = await readInput()
  said = input
  const code = await answered(input, args, options)
  clearTimeout(watch)
  // Do not wait for requests to a ledger that does not respond.
  setTimeout(() => process.exit(), LAST_MS).unref()
  return code
}

function say(text: string): void {
  process.stderr.write(`countersign hook: ${oneLine(text)}\n`)
}

async function answered(input: HookInput, args: Arguments, options: Options): Promise<number> {
  if (input.kind === 'other') say(`${input.event} is an event that nothing is recorded of`)
  if (input.kind === 'unreadable' || input.kind === 'fault') say(input.message)
  if (input.kind === 'unreadable') return BLOCKS
  if (input.kind === 'fault') {
    const text = denial(input, `Not run: countersign cannot record this call: ${input.message}`)
    if (text !== undefined) await printed(text)
  }
  if (input.kind === 'other' || input.kind === 'fault') return EXIT.ok
  const decision = await recorded(input, args, options)
  if (input.kind === 'before') await printed(hookAnswer(input, decision))
  return EXIT.ok
}

async function recorded(input: Recorded, args: Arguments, options: Options): Promise<HookDecision> {
  const { host, session } = input
  const { place, leftMs, whenAway, ...rest } = options
  const folder = join(options.state, place, runIdOf(host, session))
  const notes = new HookNotes(folder)
  const limits = { command: 'hook', timeoutMs: ANSWER_MS, patienceMs: PATIENCE_MS, lockedMs: Math.max(0, leftMs()) }
  try {
    await using ledger = await ledgerOf(args, limits)
    const { client, url } = ledger
    const about: HookOptions = { ...rest, client, desk: { url }, host, session, whenAway, notes, leftMs, say }
    return await carriedOut(new HookCalls(about), input)
  } catch (error) {
    // Invalid flags end with an exit code that counts as a refusal, too.
    if (error instanceof CliFailure) throw error
    say(reasonOfError(error))
    if (input.kind !== 'before') return { allow: true }
    if (whenAway === 'pass' && notes.write('passed', randomUUID(), { at: new Date().toISOString() }))
      return { allow: true }
    return { allow: false, reason: ledgerAway(input.call.tool, reasonOfError(error)) }
  }
}

async function carriedOut(calls: HookCalls, input: Recorded): Promise<HookDecision> {
  if (input.kind === 'before') return calls.before(input.call)
  if (input.kind === 'after') await calls.after(input.call, input.outcome)
  if (input.kind === 'start') await calls.start()
  if (input.kind === 'end') await calls.end()
  return { allow: true }
}

/** A refusal in the format of the host; undefined if the host does not wait for an answer. */
function denial(input: HookInput, reason: string): string | undefined {
  const asked = input.kind === 'before' ? input : input.kind === 'fault' ? input.asked : undefined
  return asked && hookAnswer(asked, { allow: false, reason })
}

async function printed(text: string): Promise<void> {
  if (text !== '') await new Promise((resolve) => process.stdout.write(`${text}\n`, resolve))
}

async function readInput(): Promise<HookInput> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of process.stdin as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > INPUT_MAX_BYTES)
      return { kind: 'unreadable', message: `the input of the hook has more than ${INPUT_MAX_BYTES} bytes` }
    parts.push(part)
  }
  return readHookInput(Buffer.concat(parts))
}

type Options = ReturnType<typeof optionsOf>

function optionsOf(args: Arguments) {
  const { text } = args
  const run = runFlag(text('run'), 'hook')
  const within = text('within') ?? WITHIN_DEFAULT
  if (!/^\d{1,3}(\.\d)?$/.test(within) || Number(within) < 1)
    throw usageFailure(`--within: "${within}" is no time of 1 to 999 seconds`, 'hook')
  // The timeout of the host started before this process could start counting.
  const endMs = performance.timeOrigin + Number(within) * 1_000 - SPARE_MS
  return {
    run,
    agent: nameOf('agent', text('agent')),
    effects: effectsOf(text('effects'), 'hook'),
    whenAway: text('when-ledger-is-away') === 'pass' ? ('pass' as const) : ('refuse' as const),
    secrets: secretsOf(process.env),
    state: stateFolder(text('state')),
    /** Identifies the ledger that the notes belong to. */
    place: jsonDigest([text('url') ?? args.settings.data, text('tenant') ?? '', text('run') ?? '']).slice(
      'sha256:'.length,
      32,
    ),
    leftMs: () => endMs - Date.now(),
  }
}

function stateFolder(given: string | undefined): string {
  if (given !== undefined) return given
  const home = process.env.XDG_STATE_HOME ?? ''
  return join(isAbsolute(home) ? home : join(homedir(), '.local', 'state'), 'countersign', 'hook')
}
