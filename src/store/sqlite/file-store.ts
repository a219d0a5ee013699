/** @module Base of the stores on a file, independent of the writer: reads through a separate connection, and a status with listeners. */
import { compareDecimalPositions } from '../decimal-position.ts'
import type {
  EventStore,
  Position,
  PositionRange,
  ReadAllOptions,
  ReadRecord,
  ReadStreamOptions,
  RecordPages,
  StoreStatus,
} from '../event-store.ts'
import { StoreReads } from './store-reads.ts'

type Reading = Omit<EventStore, 'url' | 'maxAppendBytes' | 'append' | 'subscribe' | typeof Symbol.asyncDispose>

export abstract class FileStore implements Reading {
  readonly exclusive = true
  readonly densePositions = true
  readonly comparePositions = compareDecimalPositions
  protected readonly reads = new StoreReads()
  readonly #listeners = new Set<(status: StoreStatus) => void>()
  #status: StoreStatus

  constructor(detail: string) {
    this.#status = { state: 'unavailable', detail }
  }

  head(stream: string): Promise<number> {
    return this.reads.head(stream)
  }

  recordAt(position: Position): Promise<ReadRecord | undefined> {
    return this.reads.recordAt(position)
  }

  end(): Promise<Position | undefined> {
    return this.reads.end()
  }

  missingPositions(limit: number, among?: number): Promise<readonly Position[]> {
    return this.reads.missingPositions(limit, among)
  }

  missingEnd(): Promise<PositionRange | undefined> {
    return this.reads.missingEnd()
  }

  findRequest(stream: string, requestId: string): Promise<number | undefined> {
    return this.reads.findRequest(stream, requestId)
  }

  readStream(stream: string, options?: ReadStreamOptions): RecordPages {
    return this.reads.readStream(stream, options)
  }

  readAll(options?: ReadAllOptions): RecordPages {
    return this.reads.readAll(options)
  }

  status(): StoreStatus {
    return this.#status
  }

  onStatus(listener: (status: StoreStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  protected setStatus(status: StoreStatus): void {
    this.#status = status
    for (const listener of [...this.#listeners]) listener(status)
  }
}
