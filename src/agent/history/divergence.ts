/** @module The error for a divergence: the first difference between code and record, the line of the program that asked, and the usual causes. */
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isEqual, isJsonObject, type Json, type JsonObject, parseJson } from '../../../schemas/json.ts'
import { pointerStep } from '../../../schemas/json-pointer.ts'
import { type DivergenceCode, ResumeDiverged } from '../errors.ts'

/** The first difference, in the order of the record; a value that is missing on one side is absent. */
interface Difference {
  readonly path: string
  readonly recorded?: Json
  readonly asked?: Json
}

/** Number of characters of a text that are shown, starting `BEFORE_CHARS` before the first character that differs. */
const SHOWN_CHARS = 160
const BEFORE_CHARS = 40

function firstDifference(recorded: Json, asked: Json, path = ''): Difference | undefined {
  if (Array.isArray(recorded) && Array.isArray(asked)) return differenceIn(recorded, asked, path)
  if (!isJsonObject(recorded) || !isJsonObject(asked))
    return isEqual(recorded, asked) ? undefined : { path, recorded, asked }
  return differenceIn(recorded, asked, path)
}

function differenceIn(recorded: object, asked: object, path: string): Difference | undefined {
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(asked)])) {
    const at = path + pointerStep(key)
    const [was, is] = [recorded, asked].map((each) =>
      Object.hasOwn(each, key) ? (each as JsonObject)[key] : undefined,
    )
    if (was === undefined || is === undefined)
      return { path: at, ...(was !== undefined && { recorded: was }), ...(is !== undefined && { asked: is }) }
    const difference = firstDifference(was, is, at)
    if (difference !== undefined) return difference
  }
  return undefined
}

/** The error for a divergence: its first line names the call, the others the difference, the line of the program that asked, and the usual causes. */
export function divergenceOf(
  { message, recorded, asked }: { readonly message: string; readonly recorded: Json | undefined; readonly asked: Json },
  details: JsonObject,
  code: DivergenceCode,
  stack = stackHere(),
): ResumeDiverged {
  const difference = recorded === undefined ? undefined : firstDifference(recorded, asked)
  const line = programLine(stack)
  const causes = causesOf(difference)
  const lines = [
    message,
    ...(difference === undefined ? [] : [differenceText(difference)]),
    ...(line === undefined ? [] : [`asked at ${line}`]),
    ...causes.map((cause) => `usual cause: ${cause}`),
  ]
  const more = {
    ...(difference !== undefined && { difference: { ...difference } }),
    ...(line !== undefined && { line }),
    causes: [...causes],
  }
  return new ResumeDiverged(lines.join('\n'), { ...details, ...more }, code)
}

/** The error for a divergence in which the record holds something that the code does not request. */
export function absenceOf(message: string, details: JsonObject, code: DivergenceCode): ResumeDiverged {
  const lines = [message, ...USUAL.map((cause) => `usual cause: ${cause}`)]
  return new ResumeDiverged(lines.join('\n'), { ...details, causes: [...USUAL] }, code)
}

const STACK_FRAMES = 60

/** Captures a stack that is deep enough to reach beyond the frames of a framework. */
export function stackHere(): string | undefined {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = STACK_FRAMES
  const { stack } = new Error('where')
  Error.stackTraceLimit = stackTraceLimit
  return stack
}

/** Formats the difference as a diff. */
function differenceText({ path, recorded, asked }: Difference): string {
  const from = typeof recorded === 'string' && typeof asked === 'string' ? commonChars(recorded, asked) : 0
  return `at ${path || 'the whole'}:\n- recorded: ${shown(recorded, from)}\n+ now:      ${shown(asked, from)}`
}

function shown(value: Json | undefined, from: number): string {
  if (value === undefined) return 'nothing'
  const start = Math.max(0, from - BEFORE_CHARS)
  const text =
    typeof value === 'string' ? JSON.stringify(value.slice(start, start + SHOWN_CHARS)) : JSON.stringify(value)
  const isCut = typeof value === 'string' ? start + SHOWN_CHARS < value.length : text.length > SHOWN_CHARS
  return `${start > 0 ? '…' : ''}${text.slice(0, SHOWN_CHARS * 2)}${isCut ? '…' : ''}`
}

function commonChars(a: string, b: string): number {
  let same = 0
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1
  return same
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d|^\d{13}$/
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

/** Likely causes, the most likely first. */
function causesOf(difference: Difference | undefined): readonly string[] {
  const { recorded, asked } = difference ?? {}
  const texts = [recorded, asked].map((each) => (typeof each === 'string' ? each : JSON.stringify(each ?? null)))
  const [was = '', is = ''] = texts
  if (difference !== undefined && isOrderAlone(was, is)) return [ORDER]
  if (UUID.test(was) && UUID.test(is)) return ['an id that differs in each life: use run.uuid(), or run.once(name, fn)']
  if (TIME.test(was) && TIME.test(is))
    return ['a time that is read again in each life: use run.now(), or run.once(name, fn)']
  return USUAL
}

const ORDER =
  'the two differ in the order of members alone. A run that was recorded before live code was handed the order of the record cannot be resumed or replayed by this release where text was made of results: complete or fail it by hand. Else the text is made of something that does not come through the run: use run.once(name, fn)'
const USUAL: readonly string[] = [
  'the code was changed since: ask run.patched(id) at the change, or resume with the code of then',
  'something read outside of the run (Math.random(), a time, a file, the environment): use run.now(), run.uuid(), run.once(name, fn)',
  'an order that no record fixes (setTimeout, an event, Promise.race over a promise of your own, or over run.context(), run.calls() or run.budget()): use run.sleep() for setTimeout, and make a call or run.once(name, fn) of what is raced; what comes of those is handed over in the order of the record',
]

/** Whether two JSON texts encode the same value with a different order of members. */
function isOrderAlone(recorded: string, asked: string): boolean {
  try {
    return recorded !== asked && isEqual(parseJson(recorded) as Json, parseJson(asked) as Json)
  } catch {
    return false
  }
}

/** Undefined in a bundled file, where `import.meta.url` has no value. */
const HERE: string | undefined = import.meta.url
/** The `agent` folder of the modules, or the folder of the package's programs. */
const OWN_FOLDER =
  HERE === undefined ? '' : fileURLToPath(new URL(/[/]agent[/]history[/][^/]+$/.test(HERE) ? '..' : '.', HERE))
const IN_PACKAGE = /[\\/](agent|dist[\\/]programs)[\\/]$/

/** The line that asked, as `file:line:column`: the first stack frame outside the runtime; undefined if the stack has none. */
function programLine(stack: string | undefined): string | undefined {
  // If a bundler put runtime and program into one file, the frames of the runtime cannot be told apart from those of the program.
  if (!IN_PACKAGE.test(OWN_FOLDER)) return undefined
  const own = [OWN_FOLDER, OWN_FOLDER.replace(`${sep}dist${sep}`, sep)]
  const outside: string[] = []
  for (const line of stack?.split('\n').slice(1) ?? []) {
    const at = /\(?((?:file:\/\/)?[^()]+:\d+:\d+)\)?$/.exec(line.trim().replace(/^at (async )?/, ''))?.[1]
    if (at === undefined || at.includes('node:')) continue
    const file = at.replace(/^.* /, '').replace('file://', '')
    if (!own.some((folder) => file.startsWith(folder))) outside.push(file)
  }
  return outside.find((file) => !file.includes('node_modules')) ?? outside[0]
}
