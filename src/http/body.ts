/** @module Request bodies: kept within the memory budget of requests in flight, measured while read, strictly parsed, and validated against a schema. */
import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { Json } from '../../schemas/json.ts'
import type { Party } from '../resources/fair-shares.ts'
import type { MemoryBudget, Release } from '../resources/memory-budget.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import type { WriteTurns } from '../resources/write-turns.ts'
import { bodyFault } from '../signing/schema-errors.ts'
import { type JsonResult, parseStrictJson, parseStrictJsonInSlices } from '../signing/strict-json.ts'
import type { Principal } from '../signing/tokens.ts'
import type { HttpContext } from './http-context.ts'
import type { Parsed } from './parameters.ts'
import { type Problem, problem } from './problems.ts'

export const bodiesInFlight = problem('overloaded', 'the bodies of requests in flight leave no room for this one', {
  // To keep the connection, the rest of the body would have to be read.
  headers: { connection: 'close' },
})

export interface BodyLimits {
  readonly maxBytes: number
  readonly maxDepth?: number
  readonly maxKeys?: number
  /** Called before a large body is parsed: a refusal that does not depend on the body. */
  readonly refusal?: () => Promise<Problem | undefined>
}

/** The charset is the only parameter JSON has ever had, and UTF-8 its only value (RFC 8259 section 11). */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

interface BodyOf {
  readonly c: HttpContext
  readonly deps: { readonly work: WorkQueue }
  readonly caller: Principal
  readonly body?: HeldBody | undefined
}

/** Reads and parses a JSON body. Bytes are counted as they arrive, so that a missing or false Content-Length does not bypass the limit. */
export async function readJson({ c, body, deps, caller }: BodyOf, limits: BodyLimits): Promise<Parsed<Json>> {
  const refused = typeFault(c)
  if (refused !== undefined) return { ok: false, problem: refused }
  const read = await readBytes({ c, body }, limits.maxBytes)
  if (!read.ok) return read
  const room = body?.beforeWork(read.value.byteLength)
  if (room !== undefined) await room
  if (read.value.byteLength === 0) return fault(problem('body-missing', 'a JSON object is expected'))
  const needless = read.value.byteLength < SLICED_BYTES ? undefined : await limits.refusal?.()
  if (needless !== undefined) return fault(needless)

  const parsing = parsedBy(deps.work.writes, { tenant: caller.tenant, caller: caller.subject }, read.value, limits)
  const parsed = parsing instanceof Promise ? await parsing : parsing
  if (parsed.ok) return parsed
  const { code, pointer, offset, message } = parsed.error
  return fault(problem('invalid-json', message, { pointer, evidence: { reason: code, offset } }))
}

/** Larger bodies are parsed in slices; a smaller one takes at most about 10 ms, whatever its content. */
const SLICED_BYTES = 64 * 1024

function parsedBy(
  turns: WriteTurns,
  party: Party,
  bytes: Uint8Array,
  limits: BodyLimits,
): JsonResult | Promise<JsonResult> {
  if (bytes.byteLength >= SLICED_BYTES) return turns.inTurns(parseStrictJsonInSlices(bytes, limits), party)
  const parse = (): JsonResult => turns.doing(party, () => parseStrictJson(bytes, limits))
  return turns.pass(bytes.byteLength, party.tenant)?.then(parse) ?? parse()
}

/** The value as the schema types it, or a problem that names every invalid place. */
export function checkBody<T>(schema: z.ZodType<T>, value: Json): Parsed<T> {
  const checked = schema.safeParse(value)
  if (checked.success) return { ok: true, value: checked.data }
  const { code, detail, pointer, errors } = bodyFault(schema, checked.error)
  return fault(problem(code, detail, { ...(pointer !== undefined && { pointer }), evidence: { errors } }))
}

function typeFault(c: HttpContext): Problem | undefined {
  const encoding = c.req.header('content-encoding')
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return problem('unsupported-content-encoding', 'send the body as it is', {
      headers: { 'accept-encoding': 'identity' },
    })
  }
  const type = c.req.header('content-type')
  if (type !== undefined && JSON_TYPE.test(type)) return undefined
  return problem('unsupported-media-type', 'send Content-Type: application/json', {
    headers: { accept: 'application/json' },
  })
}

export function readBytes(
  { c, body }: Pick<BodyOf, 'c' | 'body'>,
  maxBytes: number,
): Parsed<Uint8Array> | Promise<Parsed<Uint8Array>> {
  const declared = Number(c.req.header('content-length') ?? Number.NaN)
  if (declared > maxBytes) return tooLarge(maxBytes, declared)
  const incoming = c.env?.incoming
  const fault = (size: number): Parsed<never> | undefined => {
    if (size > maxBytes) return tooLarge(maxBytes, size)
    return body?.grow(size) === false ? noRoom : undefined
  }
  return incoming === undefined ? readStream(c.req.raw.body, fault) : readIncoming(incoming, fault)
}

/** The fault of a body of which `size` bytes have arrived; undefined if it is within the limits. */
type SizeFault = (size: number) => Parsed<never> | undefined

/** Reads from the socket without a web stream in between, which would cost more than the rest of a small request. */
function readIncoming(incoming: IncomingMessage, faultOf: SizeFault): Promise<Parsed<Uint8Array>> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      const fault = faultOf(size)
      if (fault === undefined) return
      // The rest of the body is read by the code that drains the connection.
      incoming.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut)
      resolve(fault)
    }
    const onEnd = (): void => {
      resolve({ ok: true, value: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) })
      // These listeners live as long as the request, but the bytes are parsed long before its end.
      chunks = []
    }
    const onCut = (): void => resolve(incomplete)
    if (incoming.readableEnded || incoming.destroyed) return onCut()
    incoming.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut)
  })
}

async function readStream(body: ReadableStream<Uint8Array> | null, faultOf: SizeFault): Promise<Parsed<Uint8Array>> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength
      chunks.push(chunk)
      const fault = faultOf(size)
      if (fault !== undefined) return fault
    }
  } catch {
    return incomplete
  }
  return { ok: true, value: Buffer.concat(chunks) }
}

const noRoom = fault(bodiesInFlight)
const incomplete = fault(problem('body-incomplete', 'the connection ended before the body did'))

/** The connection is closed, because the unread rest of the body follows on it. `actual` is a lower bound if no length was sent. */
function tooLarge(limit: number, actual: number): Parsed<never> {
  const evidence = { limit, actual }
  return fault(
    problem('body-too-large', `at most ${limit} bytes are taken`, { evidence, headers: { connection: 'close' } }),
  )
}

function fault(refused: Problem): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: refused }
}

/** Memory that a body needs while it is processed (text, values, canonical text, sealed records), as a multiple of its bytes. Measured: 6 to 12. */
const AT_WORK_FACTOR = 12
/** A body without a length reserves memory in steps of this many bytes, the first of them before it is read. */
const STEP_BYTES = 64 * 1024

export interface HeldBody {
  /** Bytes received so far. */
  readonly bytes: number
  /** False if a body that declared no length has outgrown the available memory. */
  readonly grow: (bytes: number) => boolean
  /** Await this before a body of `bytes` bytes is parsed. A waiting request holds bytes that were read already; these are bounded. */
  readonly beforeWork: (bytes: number) => void | Promise<void>
  /** Call this when the answer is complete. */
  readonly release: () => void
}

/** Undefined if the bodies in flight leave no memory for this one: then none of it is read. */
export function holdBody(memory: MemoryBudget, { c, tenant, maxBytes }: BodyToHold): HeldBody | undefined {
  const body = new BodyInMemory(memory, tenant)
  return body.take(declaredBytes(c, maxBytes) ?? Math.min(STEP_BYTES, maxBytes)) ? body : undefined
}

interface BodyToHold {
  readonly c: HttpContext
  readonly tenant: string
  readonly maxBytes: number
}

class BodyInMemory implements HeldBody {
  bytes = 0
  readonly #memory: MemoryBudget
  readonly #tenant: string
  readonly #read: Release[] = []
  #room = 0
  #work: Release | undefined
  #over = false

  constructor(memory: MemoryBudget, tenant: string) {
    this.#memory = memory
    this.#tenant = tenant
  }

  take(bytes: number): boolean {
    const release = this.#memory.account('bodies-read').take(bytes, this.#tenant)
    if (release === undefined) return false
    this.#read.push(release)
    this.#room += bytes
    return true
  }

  grow(bytes: number): boolean {
    this.bytes = bytes
    return bytes <= this.#room || this.take(Math.max(STEP_BYTES, bytes - this.#room))
  }

  beforeWork(bytes: number): void | Promise<void> {
    const free = this.#memory.account('requests-at-work').whenFree(bytes * AT_WORK_FACTOR)
    return free instanceof Promise ? free.then((release) => this.#begin(release)) : this.#begin(free)
  }

  release(): void {
    this.#over = true
    for (const release of this.#read) release()
    this.#work?.()
  }

  #begin(release: Release): void {
    this.#work = release
    // The answer was produced without the work: the connection ended, or the body was refused.
    if (this.#over) release()
  }
}

/** The length to reserve; 0 for a body whose declared length is over the limit, which the reader refuses. */
function declaredBytes(c: HttpContext, maxBytes: number): number | undefined {
  const declared = Number(c.req.header('content-length') ?? Number.NaN)
  if (Number.isNaN(declared)) return undefined
  return declared > maxBytes ? 0 : Math.max(0, declared)
}
