import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { revocable } from '../../src/access/revocable.ts'
import type { Principal, TokenResult } from '../../src/signing/tokens.ts'

const test = suite('tokens that can be revoked')

const resultOf = (more: Partial<Principal> = {}): TokenResult => {
  const [tokenId, scopes] = ['id', new Set(['runs:read'])]
  return { ok: true, claims: { tenant: 'acme', subject: 's', actor: 's', scopes, expiresAt: 1, tokenId, ...more } }
}

const listing = (...ids: readonly string[]) => ({ isRevoked: (id: string) => ids.includes(id) })

const away = (): never => {
  throw new Error('away')
}

test('a revoked token is refused, whether the token and the list are there at once or not (HTTP-82)', async () => {
  const result = resultOf()
  const [none, revoked] = [listing(), listing('id')]
  for (const verified of [result, Promise.resolve(result)]) {
    for (const later of [false, true]) {
      const listed = (ids: ReturnType<typeof listing>) => () => (later ? Promise.resolve(ids) : ids)
      const of = (ids: ReturnType<typeof listing>) => revocable({ verify: () => verified }, listed(ids)).verify('t')
      assert.equal(await of(none), result)
      assert.equal(await of(revoked), { ok: false, code: 'token-revoked' })
      assert.is(of(none) instanceof Promise, later || verified instanceof Promise)
    }
  }
})

test('a token without an id, and one that is refused anyway, do not ask for the list', async () => {
  const { claims } = resultOf() as Extract<TokenResult, { ok: true }>
  const { tokenId: _, ...rest } = claims
  const withoutId: TokenResult = { ok: true, claims: rest }
  const refused: TokenResult = { ok: false, code: 'token-expired' }
  for (const result of [withoutId, refused])
    assert.equal(await revocable({ verify: () => result }, away).verify('t'), result)
})

test('a list that cannot be read is not an empty one; only a token that reads metrics alone is accepted meanwhile (HTTP-84, A453)', async () => {
  const [reads, metrics] = [resultOf(), resultOf({ scopes: new Set(['metrics:read']) })]
  assert.throws(() => revocable({ verify: () => reads }, away).verify('t'), 'away')
  const rejecting = revocable({ verify: async () => reads }, async () => away())
  const error = await Promise.resolve(rejecting.verify('t')).catch((thrown: unknown) => thrown)
  assert.instance(error, Error)
  assert.equal(await revocable({ verify: () => metrics }, away).verify('t'), metrics)
  assert.equal(await revocable({ verify: () => metrics }, () => listing('id')).verify('t'), {
    ok: false,
    code: 'token-revoked',
  })
})

test.run()
