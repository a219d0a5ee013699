import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { appendMessage, readAppendAnswer } from '../../../src/store/eventstoredb/wire/append-message.ts'
import { MessageReader, ProtobufError } from '../../../src/store/eventstoredb/wire/protobuf.ts'

const test = suite('the messages of appends to EventStoreDB')
const ID = 'f1900000-0000-7000-8000-00000000000a'

test('the client’s own definitions read of an append what was written, whatever its sizes', () => {
  for (const bytes of [0, 1, 125, 126, 127, 128, 129, 16_000, 16_384, 70_000, 1_000_000]) {
    const events = ['first', 'second'].map((name) => ({
      id: ID,
      type: `Type${name}`,
      data: JSON.stringify({ name, text: 'é'.repeat(bytes / 2) }),
      metadata: JSON.stringify({ header: 'x'.repeat(bytes) }),
    }))
    const message = { correlation: ID, stream: 'run-acme.ü', deadlineMs: 1_790_000_000_001, events }
    for (const expectedRevision of [undefined, 0, 127, 128, 2 ** 40]) {
      const sent = appendMessage({ ...message, expectedRevision })
      const read = streamsPb.BatchAppendReq.deserializeBinary(sent)
      const options = read.getOptions()
      assert.is(read.getIsFinal(), true)
      assert.is(read.getCorrelationId()?.getString(), ID)
      assert.is(Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(), 'run-acme.ü')
      assert.is(options?.hasNoStream(), expectedRevision === undefined)
      if (expectedRevision !== undefined) assert.is(options?.getStreamPosition(), String(expectedRevision))
      assert.is(options?.getDeadline()?.getSeconds(), 1_790_000_001)
      const found = read.getProposedMessagesList().map((event) => ({
        id: event.getId()?.getString(),
        type: event.getMetadataMap().get('type'),
        data: Buffer.from(event.getData_asU8()).toString(),
        metadata: Buffer.from(event.getCustomMetadata_asU8()).toString(),
      }))
      assert.equal(found, events)
      for (const event of read.getProposedMessagesList())
        assert.is(event.getMetadataMap().get('content-type'), 'application/json')
    }
  }
})

/** As a server writes an answer. */
function answer({
  isStructured,
  uuid = ID,
  position = '0',
}: {
  readonly isStructured: boolean
  readonly uuid?: string
  readonly position?: string
}) {
  const id = new sharedPb.UUID()
  if (isStructured) {
    const half = (digits: string): string => BigInt.asIntN(64, BigInt(`0x${digits}`)).toString()
    const key = uuid.replaceAll('-', '')
    const structured = new sharedPb.UUID.Structured()
    structured.setMostSignificantBits(half(key.slice(0, 16)))
    structured.setLeastSignificantBits(half(key.slice(16)))
    id.setStructured(structured)
  } else id.setString(uuid)
  const at = new sharedPb.AllStreamPosition()
  at.setCommitPosition(position)
  at.setPreparePosition(position)
  const success = new streamsPb.BatchAppendResp.Success()
  success.setCurrentRevision('300')
  success.setPosition(at)
  const answer = new streamsPb.BatchAppendResp()
  answer.setCorrelationId(id)
  answer.setSuccess(success)
  return Buffer.from(answer.serializeBinary())
}

test('an answer is known by the number at the end of its UUID, whatever stands before it', () => {
  for (const isStructured of [true, false]) {
    for (const [digits, number] of [
      ['000000000001', 1],
      ['0000ffffffff', 2 ** 32 - 1],
      ['ffffffffffff', 2 ** 48 - 1],
    ] as const) {
      for (const before of ['00000000-0000-0000-0000-', 'ffffffff-ffff-ffff-ffff-', 'f1900000-0000-7000-8000-']) {
        assert.is(readAppendAnswer(answer({ isStructured, uuid: before + digits })).correlation, number)
      }
    }
  }
})

test('an answer is known by its UUID in both of the forms that servers write, and its position is exact up to 64 bits', () => {
  for (const isStructured of [true, false]) {
    for (const position of [0n, 127n, 2n ** 49n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
      const read = readAppendAnswer(answer({ isStructured, position: String(position) }))
      assert.is(read.correlation, 0xa)
      assert.equal(read.success, { revision: 300, position: { commit: position, prepare: position } })
    }
  }
})

test('a message that is cut off anywhere is an error or less, and never a read beyond it', () => {
  const whole = answer({ isStructured: true, position: '18446744073709551615' })
  for (let end = 0; end < whole.length; end += 1) {
    try {
      const { success } = readAppendAnswer(whole.subarray(0, end))
      assert.is(success, undefined)
    } catch (error) {
      assert.instance(error, ProtobufError)
    }
  }
})

test('fields that a later version adds are passed over, whatever their type', () => {
  const unknown = Buffer.from([
    ...[0x78, 0xff, 0x01],
    ...[0x79, 1, 2, 3, 4, 5, 6, 7, 8],
    ...[0x7a, 2, 0xff, 0xff],
    ...[0x7d, 1, 2, 3, 4],
  ])
  const read = readAppendAnswer(Buffer.concat([unknown, answer({ isStructured: false, position: '5' }), unknown]))
  assert.is(read.success?.revision, 300)
  const isProtobufError = (error: unknown): boolean => error instanceof ProtobufError
  const group = new MessageReader(Buffer.from([0x7b]))
  group.next()
  assert.throws(() => group.skip(), isProtobufError)
  assert.throws(() => new MessageReader(Buffer.alloc(11, 0xff)).bigint(), isProtobufError)
})

test.run()
