import { context, type SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { agent } from '../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../src/agent/loop/scripted-model.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { HOMES, rejection, type TestHome } from './homes.ts'

const REMOTE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const KINDS: readonly (keyof typeof SpanKind)[] = ['INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
const STATUS_ERROR = 2

/** An SDK that keeps what it is handed, in the order in which it began, until it is disposed of. */
function registered(): { readonly spans: () => readonly ReadableSpan[]; readonly reset: () => void } & Disposable {
  const exporter = new InMemorySpanExporter()
  const started: string[] = []
  const order = {
    onStart: (span: ReadableSpan) => void started.push(span.spanContext().spanId),
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  }
  const provider = new TracerProvider({ spanProcessors: [order, new SimpleSpanProcessor({ exporter })] })
  const manager = new AsyncLocalStorageContextManager().enable()
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(manager)
  return {
    spans: () =>
      [...exporter.getFinishedSpans()].sort(
        (a, b) => started.indexOf(a.spanContext().spanId) - started.indexOf(b.spanContext().spanId),
      ),
    reset: () => exporter.reset(),
    [Symbol.dispose]: () => {
      trace.disable()
      context.disable()
    },
  }
}

/** `name < parent`. */
function tree(spans: readonly ReadableSpan[]): string[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
  return spans.map(({ name, parentSpanContext }) => {
    const parent = parentSpanContext === undefined ? undefined : (names.get(parentSpanContext.spanId) ?? 'outside')
    return parent === undefined ? name : `${name} < ${parent}`
  })
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.find((span) => span.name === name)
  assert.ok(found, `${name} among ${spans.map((span) => span.name).join(', ')}`)
  return found
}

const traceparentOf = (span: ReadableSpan): string => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`

async function traceparents(home: TestHome, runId: string): Promise<Record<string, string | undefined>> {
  const all: Record<string, string | undefined> = {}
  for await (const line of home.process().export(runId)) {
    for (const text of line.split('\n').filter((each) => each.includes('"header"'))) {
      const { header } = JSON.parse(text) as { header: { type: string; traceparent?: string } }
      all[header.type] ??= header.traceparent
    }
  }
  return all
}

for (const { name, open } of HOMES) {
  const test = suite(`OpenTelemetry spans ${name}`)

  const shop = (cs: Countersign) => {
    const refund = cs.tool(async (payment: string) => `refunded ${payment}`, {
      name: 'refund',
      compensate: 'not-needed',
    })
    const charge = cs.tool(async (cents: number) => `p-${cents}`, {
      name: 'charge',
      compensate: ({ result }) => refund(result),
    })
    const refuse = cs.tool(
      async () => {
        throw new RangeError('card 4111 1111')
      },
      { name: 'refuse', compensate: 'not-needed' },
    )
    return { charge, refuse }
  }
  const asked = (run: Run<unknown>): Promise<string> =>
    run.model({
      provider: 'acme',
      model: 'small',
      request: { prompt: 'hello' },
      call: async () => 'hi',
      usage: () => ({ inputTokens: 7, outputTokens: 3 }),
    })

  test('runs, calls, models, agents and handoffs are spans by the conventions, each below what it belongs to (RUN-72)', async () => {
    await using home = await open()
    using otel = registered()
    const cs = home.process()
    const { charge } = shop(cs)
    const helper = agent({ name: 'helper', model: new ScriptedModel(['done']), tools: [] })
    await cs.run({ id: 'r', name: 'order' }, async (run) => {
      await charge(100)
      await asked(run)
      await run.step('writer', async () => ({ facts: { total: 1 } }))
      await run.handoff({ facts: { total: 1 } }, { agent: 'reviewer' })
      return (await helper.generate({ prompt: 'x' })).text
    })
    const spans = otel.spans()
    assert.equal(tree(spans), [
      'invoke_workflow order',
      'execute_tool charge < invoke_workflow order',
      'chat small < invoke_workflow order',
      'invoke_agent writer < invoke_workflow order',
      'handoff writer < invoke_workflow order',
      'handoff reviewer < invoke_workflow order',
      'invoke_agent helper < invoke_workflow order',
      'chat scripted < invoke_agent helper',
    ])
    const tool = named(spans, 'execute_tool charge')
    assert.is(KINDS[tool.kind], 'INTERNAL')
    assert.is(tool.attributes['gen_ai.operation.name'], 'execute_tool')
    assert.is(tool.attributes['gen_ai.tool.name'], 'charge')
    assert.is(tool.attributes['gen_ai.tool.type'], 'function')
    assert.is(tool.attributes['gen_ai.conversation.id'], 'r')
    assert.is(tool.attributes['countersign.replayed'], undefined)
    const chat = named(spans, 'chat small')
    assert.is(KINDS[chat.kind], 'CLIENT')
    assert.is(chat.attributes['gen_ai.provider.name'], 'acme')
    assert.is(chat.attributes['gen_ai.request.model'], 'small')
    assert.is(chat.attributes['gen_ai.usage.input_tokens'], 7)
    assert.is(chat.attributes['gen_ai.usage.output_tokens'], 3)
    assert.is(named(spans, 'handoff reviewer').attributes['countersign.step'], 2)
  })

  test('what a command records names the span that requested it, also of calls that were claimed together (RUN-72)', async () => {
    await using home = await open()
    using otel = registered()
    const cs = home.process()
    const told: (string | undefined)[] = []
    const tool = cs.tool({
      name: 'tool',
      compensate: 'not-needed',
      execute: async (_: { n: number }, { traceparent }) => void told.push(traceparent),
    })
    await cs.run({ id: 'r', name: 'order' }, async (run) => {
      await Promise.all([tool({ n: 1 }), tool({ n: 2 })])
      await run.handoff({ facts: {} }, { agent: 'a' })
    })
    const spans = otel.spans()
    const calls = spans.filter((span) => span.name === 'execute_tool tool').map(traceparentOf)
    assert.equal(new Set(told), new Set(calls))
    const recorded = new Set<string | undefined>()
    for await (const portion of cs.export('r')) {
      for (const line of portion.split('\n').filter((each) => each.includes('ToolCallClaimed')))
        recorded.add((JSON.parse(line) as { header: { traceparent?: string } }).header.traceparent)
    }
    assert.equal(recorded, new Set(calls))
    const by = await traceparents(home, 'r')
    assert.is(by.RunStarted, traceparentOf(named(spans, 'invoke_workflow order')))
    assert.is(by.RunCompleted, by.RunStarted)
    assert.is(by.EnvelopeAccepted, traceparentOf(named(spans, 'handoff a')))
    assert.ok(calls.includes(by.ToolCallSucceeded ?? ''))
  })

  test('a failure is the status of its span, by code or class and without its text; what was undone is a span, too (RUN-72)', async () => {
    await using home = await open()
    using otel = registered()
    const cs = home.process()
    const { charge, refuse } = shop(cs)
    await rejection(
      cs.run({ id: 'r', name: 'order' }, async () => {
        await charge(100)
        await refuse()
      }),
    )
    const spans = otel.spans()
    assert.equal(tree(spans), [
      'invoke_workflow order',
      'execute_tool charge < invoke_workflow order',
      'execute_tool refuse < invoke_workflow order',
      'execute_tool charge.compensate < invoke_workflow order',
    ])
    for (const each of ['invoke_workflow order', 'execute_tool refuse']) {
      const { status, attributes } = named(spans, each)
      assert.is(status.code, STATUS_ERROR, each)
      assert.is(attributes['error.type'], 'RangeError', each)
    }
    assert.is(named(spans, 'execute_tool charge').status.code, 0)
    assert.is(named(spans, 'invoke_workflow order').attributes['countersign.run.status'], 'COMPENSATED')
    const texts = spans.map(({ status, attributes, events }) => JSON.stringify({ status, attributes, events }))
    // Ids of calls may contain four of these digits by chance.
    assert.not.match(texts.join(), /card|4111 1111/)
  })

  test('a served call says that it was replayed, and has no usage of its own: on resume, on replay and after the end (RUN-73)', async () => {
    await using home = await open()
    using otel = registered()
    const first = home.process()
    const { charge } = shop(first)
    const body = (pay: typeof charge) => async (run: Run<null>) => {
      await pay(100)
      await run.handoff({ facts: {} }, { agent: 'a' })
      return asked(run)
    }
    await first.run({ id: 'r', name: 'order' }, body(charge))
    otel.reset()
    const second = home.process()
    const { charge: again } = shop(second)
    await second.replay('r', body(again))
    const spans = otel.spans()
    assert.equal(tree(spans), [
      'invoke_workflow order',
      'execute_tool charge < invoke_workflow order',
      'handoff a < invoke_workflow order',
      'chat small < invoke_workflow order',
    ])
    for (const span of spans) {
      assert.is(span.attributes['countersign.replayed'], true, span.name)
      assert.is(span.attributes['gen_ai.usage.input_tokens'], undefined, span.name)
    }
    otel.reset()
    await second.run({ id: 'r', name: 'order' }, body(again))
    assert.is(named(otel.spans(), 'invoke_workflow order').attributes['countersign.replayed'], true)
  })

  test('a run hangs below the span that was active, the trace that its caller names, or the call whose work it is (RUN-72)', async () => {
    await using home = await open()
    using otel = registered()
    const cs = home.process()
    const tracer = trace.getTracer('program')
    await tracer.startActiveSpan('request', async (span) => {
      await cs.run({ name: 'one' }, async (run) => {
        await tracer.startActiveSpan('own work', async (own) => {
          await run.once('inside', () => 1)
          own.end()
        })
        await cs.run({ name: 'child' }, () => 1)
      })
      span.end()
    })
    assert.equal(tree(otel.spans()), [
      'request',
      'invoke_workflow one < request',
      'own work < invoke_workflow one',
      'execute_tool run.once:inside < own work',
      'execute_tool cs.run:child < invoke_workflow one',
      'invoke_workflow child < execute_tool cs.run:child',
    ])
    otel.reset()
    await cs.run({ id: 'named', name: 'two', traceparent: REMOTE }, () => 1)
    const two = named(otel.spans(), 'invoke_workflow two')
    assert.is(two.parentSpanContext?.spanId, REMOTE.split('-')[2])
    assert.is(two.spanContext().traceId, REMOTE.split('-')[1])
  })

  test('without an SDK nothing is traced and no call does anything for it; a trace that the caller names is recorded (RUN-72)', async () => {
    await using home = await open()
    const cs = home.process()
    const seen: (string | undefined)[] = []
    const tool = cs.tool({
      name: 'tool',
      compensate: 'not-needed',
      execute: async (_: { n: number }, told) => void seen.push('traceparent' in told ? told.traceparent : 'absent'),
    })
    await cs.run({ id: 'plain', name: 'order' }, () => tool({ n: 1 }))
    await cs.run({ id: 'named', name: 'order', traceparent: REMOTE }, () => tool({ n: 2 }))
    await cs.run({ id: 'wrong', name: 'order', traceparent: REMOTE.toUpperCase() }, () => tool({ n: 3 }))
    assert.equal(seen, ['absent', REMOTE, 'absent'])
    assert.equal(new Set(Object.values(await traceparents(home, 'plain'))), new Set([undefined]))
    assert.equal(new Set(Object.values(await traceparents(home, 'named'))), new Set([REMOTE]))
    assert.equal(new Set(Object.values(await traceparents(home, 'wrong'))), new Set([undefined]))
  })

  test.run()
}
