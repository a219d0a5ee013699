/**
 * @module A small EventStoreDB node in this process: the real gRPC protocol over loopback, for the real client, with an in-memory log behind
 * it and troubles on demand. What it answers is what a real 23.10 node was seen to answer.
 */
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import { ProjectionsService } from '@eventstore/db-client/generated/projections_grpc_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js'
import { batchAppend, unaryAppend } from './eventstoredb/append-service.ts'
import { Cluster } from './eventstoredb/cluster.ts'
import { Faults } from './eventstoredb/faults.ts'
import { EventLog } from './eventstoredb/log.ts'
import { deleteStream, gossip, SERVER_VERSION, supportedMethods, tombstone } from './eventstoredb/other-services.ts'
import type { NodeParts } from './eventstoredb/parts.ts'
import { ProjectionEngine } from './eventstoredb/projection-engine.ts'
import { projectionsService } from './eventstoredb/projection-service.ts'
import { read } from './eventstoredb/read-service.ts'

export interface NodeOptions {
  /** As the node tells it; `undefined`: a node too old to be asked. */
  readonly version?: string | undefined
  /** False: started with EVENTSTORE_RUN_PROJECTIONS=None. */
  readonly runsProjections?: boolean
  /** What it holds already; nothing by default. */
  readonly log?: EventLog
  /** Which it is a node of. */
  readonly cluster?: Cluster
}

/** Starts a node on a free port of the loopback. */
export async function startNode(options: NodeOptions = {}): Promise<EventStoreNode> {
  const node = new EventStoreNode(options)
  await node.start()
  return node
}

/** So many nodes with one log; the first one leads. */
export async function startCluster(size: number): Promise<NodeCluster> {
  const cluster = new Cluster()
  const nodes: EventStoreNode[] = []
  for (let index = 0; index < size; index += 1) nodes.push(await startNode({ cluster }))
  cluster.leader = nodes[0]?.port
  return {
    cluster,
    nodes,
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
    },
  }
}

export interface NodeCluster extends AsyncDisposable {
  readonly cluster: Cluster
  readonly nodes: readonly EventStoreNode[]
}

export class EventStoreNode implements AsyncDisposable {
  readonly log: EventLog
  readonly faults = new Faults()
  readonly projections: ProjectionEngine
  readonly #grpc = new Server({ 'grpc.max_receive_message_length': 17 * 1024 * 1024 })
  readonly #sockets = new Set<Socket>()
  readonly #parts: NodeParts
  readonly #inject: (socket: Socket) => void
  #listener: NetServer | undefined
  #port = 0
  #isUnreferenced = false

  constructor(options: NodeOptions = {}) {
    const { version, runsProjections = true, cluster, log } = { version: SERVER_VERSION, ...options }
    this.log = cluster?.log ?? log ?? new EventLog()
    this.projections = new ProjectionEngine(this.log)
    const calls = { cut: () => this.cut(), port: () => this.#port, ...(cluster !== undefined && { cluster }) }
    const sent = { backwards: 0, forwards: 0, subscription: 0, checkpoints: 0 }
    const parts: NodeParts = { log: this.log, faults: this.faults, appends: 0, reads: 0, sent, ...calls }
    this.#parts = parts
    this.#grpc.addService(StreamsService, {
      read: read(parts),
      append: unaryAppend(parts),
      batchAppend: batchAppend(parts),
      delete: deleteStream(parts),
      tombstone: tombstone(parts),
    })
    if (version !== undefined) {
      this.#grpc.addService(ServerFeaturesService, { getSupportedMethods: supportedMethods(parts, version) })
    }
    if (runsProjections) {
      const service: UntypedServiceImplementation = { ...projectionsService(parts, this.projections) }
      this.#grpc.addService(ProjectionsService, service)
    }
    this.#grpc.addService(GossipService, { read: gossip(parts) })
    const injector = this.#grpc.createConnectionInjector(ServerCredentials.createInsecure())
    this.#inject = (socket) => injector.injectConnection(socket)
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.#port}?tls=false`
  }

  /** Appends that have come in, refused ones too. */
  get appends(): number {
    return this.#parts.appends
  }

  /** Reads and subscriptions that have come in. */
  get reads(): number {
    return this.#parts.reads
  }

  /** Events with their bodies that have gone out, and checkpoints of subscriptions. */
  get sent(): Readonly<NodeParts['sent']> {
    return this.#parts.sent
  }

  /** Listens; after `stop` on the same port, with everything that was written. */
  async start(): Promise<void> {
    const listener = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket)
      if (this.#isUnreferenced) socket.unref()
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
      this.#inject(socket)
    })
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject)
      listener.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#listener = listener
    this.#port = (listener.address() as AddressInfo).port
    this.#parts.cluster?.ports.add(this.#port)
  }

  /** It no longer keeps the process alive: whoever waits for an answer does. */
  unref(): void {
    this.#isUnreferenced = true
    this.#listener?.unref()
    for (const socket of this.#sockets) socket.unref()
  }

  /** As `kill -9` looks from outside: connections break, new ones are refused, and remembered event ids are gone. */
  async stop(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    const closed = new Promise<void>((resolve) => {
      if (listener === undefined) resolve()
      else listener.close(() => resolve())
    })
    this.cut()
    this.log.forgetIds()
    await closed
  }

  /** Breaks every connection; new ones are taken. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.faults.clear()
    await this.stop()
    this.#grpc.forceShutdown()
  }
}
