/**
 * @module The projections' calls. What a 23.10 node says where it refuses is read in its source: it answers UNKNOWN and names the message that it
 * got from itself, `NotFound` or `Conflict`; of one that never compiled, and of all while there is one, it cannot tell the status (met on a real node). That a follower runs no
 * projections, and says `NotReady`, is our reading.
 */
import type { IProjectionsServer } from '@eventstore/db-client/generated/projections_grpc_pb.js'
import pb from '@eventstore/db-client/generated/projections_pb.js'
import { type sendUnaryData, status } from '@grpc/grpc-js'
import structPb from 'google-protobuf/google/protobuf/struct_pb.js'
import { callError } from './errors.ts'
import { empty } from './messages.ts'
import type { NodeParts } from './parts.ts'
import type { NodeProjection, ProjectionEngine } from './projection-engine.ts'

export function projectionsService({ faults, cluster, port }: NodeParts, engine: ProjectionEngine): IProjectionsServer {
  const leads = (): boolean => cluster === undefined || cluster.leader === port()
  const onNamed = <Response>(
    call: { readonly name: string | undefined; readonly expected?: string; readonly callback: sendUnaryData<Response> },
    answer: (projection: NodeProjection) => Response,
  ): void => {
    const { name = '', expected = 'Updated', callback } = call
    const projection = engine.projections.get(name)
    if (!leads()) callback(received(expected, 'NotReady'))
    else if (projection === undefined) callback(received(expected, 'NotFound'))
    else callback(null, answer(projection))
  }
  return {
    create: async ({ request }, callback) => {
      await faults.pass()
      const options = request.getOptions()
      const name = options?.getContinuous()?.getName() ?? ''
      if (!leads()) return callback(received('Updated', 'NotReady'))
      if (engine.projections.has(name)) return callback(received('Updated', 'Conflict'))
      engine.create(name, options?.getQuery() ?? '')
      callback(null, new pb.CreateResp())
    },
    update: async ({ request }, callback) => {
      await faults.pass()
      onNamed({ name: request.getOptions()?.getName(), callback }, (projection) => {
        engine.update(projection, request.getOptions()?.getQuery() ?? '')
        return new pb.UpdateResp()
      })
    },
    enable: async ({ request }, callback) => {
      await faults.pass()
      onNamed({ name: request.getOptions()?.getName(), callback }, (projection) => {
        engine.enable(projection)
        return new pb.EnableResp()
      })
    },
    disable: async ({ request }, callback) => {
      await faults.pass()
      onNamed({ name: request.getOptions()?.getName(), callback }, (projection) => {
        engine.disable(projection)
        return new pb.DisableResp()
      })
    },
    delete: async ({ request }, callback) => {
      await faults.pass()
      onNamed({ name: request.getOptions()?.getName(), callback }, ({ name }) => {
        engine.projections.delete(name)
        return new pb.DeleteResp()
      })
    },
    reset: async ({ request }, callback) => {
      await faults.pass()
      const projection = engine.projections.get(request.getOptions()?.getName() ?? '')
      if (projection === undefined) return callback(received('Updated', 'NotFound'))
      if (!engine.reset(projection)) return callback(callError(status.UNKNOWN, 'Exception was thrown by handler.'))
      callback(null, new pb.ResetResp())
    },
    state: async ({ request }, callback) => {
      await faults.pass()
      const options = request.getOptions()
      onNamed({ name: options?.getName(), expected: 'ProjectionState', callback }, ({ states }) => {
        engine.question()
        const response = new pb.StateResp()
        response.setState(protoValue(states.get(options?.getPartition() ?? '') ?? '{}'))
        return response
      })
    },
    result: async ({ request }, callback) => {
      await faults.pass()
      const options = request.getOptions()
      onNamed({ name: options?.getName(), expected: 'ProjectionResult', callback }, ({ states }) => {
        const response = new pb.ResultResp()
        response.setResult(protoValue(states.get(options?.getPartition() ?? '') ?? '{}'))
        return response
      })
    },
    statistics: (call) => {
      const name = call.request.getOptions()?.getName() ?? ''
      const all = [...engine.projections.values()].filter((each) => name === '' || each.name === name)
      if (all.length === 0 || !leads()) {
        call.emit('error', received('Statistics', leads() ? 'NotFound' : 'NotReady'))
        return
      }
      if (all.some((each) => each.status === 'Faulted' && !each.compiledOnce)) {
        call.emit('error', callError(status.UNKNOWN, 'Exception was thrown by handler.'))
        return
      }
      for (const projection of all) call.write(statisticsOf(projection, engine))
      call.end()
    },
    restartSubsystem: (_call, callback) => callback(null, empty()),
  }
}

function received(expected: string, got: string): ReturnType<typeof callError> {
  return callError(status.UNKNOWN, `Envelope callback expected ${expected}, received ${got} instead`)
}

function protoValue(text: string): InstanceType<typeof structPb.Value> {
  return structPb.Value.fromJavaScript(JSON.parse(text))
}

function statisticsOf(projection: NodeProjection, engine: ProjectionEngine): InstanceType<typeof pb.StatisticsResp> {
  const { name, status: word, reason, handled } = projection
  const details = new pb.StatisticsResp.Details()
  details.setName(name)
  details.setEffectivename(name)
  details.setMode('Continuous')
  details.setStatus(word)
  details.setStatereason(reason)
  details.setProgress(engine.progress(projection))
  details.setEventsprocessedafterrestart(String(handled))
  const response = new pb.StatisticsResp()
  response.setDetails(details)
  return response
}
