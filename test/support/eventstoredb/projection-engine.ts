/**
 * @module The projections of a protocol node: they follow the log behind the appends, keep a state a partition, and stop as faulted at the first
 * exception. `$by_category` is one of them: while it does not run, those of a category see nothing new.
 */
import type { EventLog, LoggedEvent } from './log.ts'
import { categoryOf, ProjectionScript } from './projection-script.ts'

export const BY_CATEGORY = '$by_category'

export interface NodeProjection {
  readonly name: string
  source: string
  script: ProjectionScript | undefined
  status: 'Preparing' | 'Running' | 'Stopped' | 'Faulted'
  /** Its script compiled once: before that it has no checkpoint, and the server no status to tell. */
  compiledOnce: boolean
  reason: string
  /** Index in the log of the next event to look at. */
  next: number
  handled: number
  /** By partition, as text. */
  readonly states: Map<string, string>
}

export class ProjectionEngine {
  readonly projections = new Map<string, NodeProjection>()
  /** While true nothing is folded: a server that lags. */
  paused = false
  /** How often a state was requested. */
  asked = 0
  /** One event a question for a state: a backlog that takes its time, whatever the clock says. */
  stepwise = false
  /** How long one is under way to where a command takes it. */
  preparesMs = 0
  /** So many of the next compilations take longer than the server allows. */
  timeOuts = 0
  readonly #log: EventLog
  /** How far streams are sorted by category. */
  #sorted = 0
  #scheduled = false

  constructor(log: EventLog) {
    this.#log = log
    this.projections.set(BY_CATEGORY, { ...fresh(BY_CATEGORY, ''), status: 'Running' })
    log.onAppended(() => this.wake())
  }

  create(name: string, source: string): void {
    const projection = fresh(name, source)
    this.projections.set(name, projection)
    this.#start(projection)
  }

  update(projection: NodeProjection, source: string): void {
    projection.source = source
    this.#start(projection)
  }

  enable(projection: NodeProjection): void {
    if (projection.status === 'Stopped' || projection.status === 'Faulted') this.#start(projection)
  }

  disable(projection: NodeProjection): void {
    if (projection.status === 'Running') projection.status = 'Stopped'
  }

  /** False for one that is under way: read in the server's source, which throws. */
  reset(projection: NodeProjection): boolean {
    if (projection.status === 'Preparing') return false
    projection.states.clear()
    projection.next = 0
    this.#start(projection)
    return true
  }

  #start(projection: NodeProjection): void {
    const end = (): void => {
      if (this.timeOuts > 0) fail(projection, new Error('Projection script took too long to compile'))
      else compile(projection)
      this.timeOuts = Math.max(0, this.timeOuts - 1)
      this.wake()
    }
    projection.status = 'Preparing'
    if (this.preparesMs === 0) end()
    else setTimeout(end, this.preparesMs).unref()
  }

  /** Percent of the events that there are. */
  progress({ next }: NodeProjection): number {
    return this.#log.all.length === 0 ? 100 : (100 * next) / this.#log.all.length
  }

  /** Behind the appends, as on the server: never within one. */
  wake(): void {
    if (this.#scheduled || this.paused || this.stepwise) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.paused) this.#followAll()
    })
  }

  /** A state is requested. */
  question(): void {
    this.asked += 1
    if (this.stepwise && !this.paused) this.#followAll()
  }

  #followAll(): void {
    if (this.projections.get(BY_CATEGORY)?.status === 'Running') this.#sorted = this.#log.all.length
    for (const projection of this.projections.values()) this.#follow(projection)
  }

  #follow(projection: NodeProjection): void {
    const { script } = projection
    if (script === undefined) {
      if (projection.name === BY_CATEGORY) projection.next = this.#sorted
      return
    }
    const end = script.definition.source === 'category' ? this.#sorted : this.#log.all.length
    while (projection.status === 'Running' && projection.next < end) {
      const event = this.#log.all[projection.next]
      if (event !== undefined && isSeen(script, event)) handle(projection, script, event)
      if (projection.status === 'Running') projection.next += 1
      if (this.stepwise) return
    }
  }
}

function fresh(name: string, source: string): NodeProjection {
  return {
    name,
    source,
    script: undefined,
    status: 'Stopped',
    compiledOnce: name === BY_CATEGORY,
    reason: '',
    next: 0,
    handled: 0,
    states: new Map(),
  }
}

/** Measured: broken source is no error of the call, it is told in the status. */
function compile(projection: NodeProjection): void {
  if (projection.name === BY_CATEGORY) {
    projection.status = 'Running'
    return
  }
  projection.script = undefined
  try {
    projection.script = new ProjectionScript(projection.source)
    projection.status = 'Running'
    projection.compiledOnce = true
    projection.reason = ''
  } catch (error) {
    fail(projection, error)
  }
}

function fail(projection: NodeProjection, error: unknown): void {
  projection.status = 'Faulted'
  // Errors of the script are of its own realm.
  projection.reason = String((error as { message?: unknown }).message ?? error)
}

function isSeen({ definition }: ProjectionScript, { stream, type }: LoggedEvent): boolean {
  if (stream.startsWith('$') || type.startsWith('$')) return false
  return definition.source === 'all' || categoryOf(stream) === definition.category
}

function handle(projection: NodeProjection, script: ProjectionScript, event: LoggedEvent): void {
  const partition = script.definition.byStream ? event.stream : ''
  try {
    projection.states.set(partition, script.handle(projection.states.get(partition), event))
    projection.handled += 1
  } catch (error) {
    fail(projection, error)
  }
}
