import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RecordedFailure } from '../../src/agent/errors.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { HOMES, NO_WAIT, rejection } from './homes.ts'

class Own extends Error {
  override name = 'Own'
}

const lazily = (error: Error, member: string): Error =>
  Object.defineProperty(error, member, {
    enumerable: true,
    get() {
      throw new Error('lazy')
    },
  })

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

/** Each with what its caller reads of it. */
const UNREADABLE: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  'a getter code that throws': [() => lazily(new Error('told'), 'code'), /^told$/],
  'a getter status that throws': [() => lazily(new Error('told'), 'status'), /^told$/],
  'a getter message that throws': [() => lazily(new Error('told'), 'message'), /^Error|shown as text/],
  'a getter name that throws': [() => lazily(new Own('told'), 'name'), /^told$/],
  'a cause that throws': [() => lazily(new Error('told'), 'cause'), /^told$/],
  'a member of its own that throws': [() => lazily(new Own('told'), 'detail'), /^told$/],
  'a toJSON that throws': [() => Object.assign(new Own('told'), { detail: { toJSON: revoked() } }), /^told$/],
  'a symbol as a name': [() => Object.assign(new Error('told'), { name: Symbol('s') }), /^told$/],
  'no prototype': [() => Object.create(null), /shown as text/],
  'a toString that throws': [() => ({ toString: () => Object.create(null) as string }), /shown as text/],
  'a proxy that was revoked': [revoked, /shown as text/],
  'a symbol': [() => Symbol('s'), /^Symbol\(s\)$/],
}

for (const { name, open } of HOMES) {
  const test = suite(`thrown ${name}`)

  for (const [what, [thrown, text]] of Object.entries(UNREADABLE)) {
    test(`what cannot be read fails its call with what can be read, the same live and replayed: ${what} (RUN-141)`, async () => {
      await using home = await open()
      const came: Error[] = []
      const life = (cs: Countersign) => {
        const options = { compensate: 'not-needed', backoff: NO_WAIT, errors: [Own] } as const
        const execute = async (): Promise<null> => Promise.reject(thrown())
        const fails = cs.tool({ name: 'fails', execute, ...options })
        return async (): Promise<string> => {
          came.push((await rejection(fails(null))) as Error)
          return 'went on'
        }
      }
      const first = home.process()
      assert.is(await first.run({ id: 'r', name: 'r' }, life(first)), 'went on')
      const second = home.process()
      assert.is((await second.replay('r', life(second))).verdict, 'exact')
      const [live, later] = came as [Error, Error]
      assert.match(live.message, text)
      assert.equal([live.name, live.message], [later.name, later.message])
      assert.ok(live instanceof RecordedFailure || live instanceof Own)
    })

    test(`thrown by the code of a run it rolls back what was done: ${what} (RUN-141)`, async () => {
      await using home = await open()
      const cs = home.process()
      const undone: number[] = []
      const pay = cs.tool(async (cents: number) => cents, {
        name: 'pay',
        compensate: ({ args: [n] }) => undone.push(n),
      })
      const body = async (): Promise<void> => {
        await pay(5)
        throw thrown()
      }
      let isThrown = false
      await cs.run({ id: 'r', name: 'r' }, body).catch(() => {
        isThrown = true
      })
      assert.ok(isThrown)
      assert.equal(undone, [5])
    })
  }

  test.run()
}
