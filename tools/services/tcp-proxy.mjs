import { connect, createServer } from 'node:net';

/**
 * A wire with faults, between a client and a server on loopback. What it does can be changed at any time and holds for
 * connections that are open too.
 * @typedef {object} TcpProxy
 * @property {number} port
 * @property {() => number} connections How many have been opened.
 * @property {() => void} cut Resets every open connection. New ones pass.
 * @property {(refusing: boolean) => void} refuse Whether new connections are reset at once; open ones are reset too.
 * @property {(bytes: number) => void} cutRequestsAfter The next connection that sends this many bytes more is reset,
 *   once.
 * @property {(bytes: number) => void} cutResponsesAfter The next connection that receives this many bytes more is reset,
 *   once. With 0 the server has done what it was asked and the client never hears of it.
 * @property {(bytesPerSecond: number) => void} slow Limits both directions of every connection; Infinity ends it.
 * @property {(silent: boolean) => void} silence Swallows what the server answers, as a network does that lost the way
 *   back. What was swallowed never arrives.
 * @property {() => Promise<void>} close
 */

/**
 * @param {number} target Port of the server on 127.0.0.1.
 * @returns {Promise<TcpProxy>}
 */
export async function openTcpProxy(target) {
  /** @type {Set<{ client: import('node:net').Socket, upstream: import('node:net').Socket }>} */
  const pairs = new Set();
  let opened = 0;
  let refusing = false;
  let silent = false;
  let rate = Infinity;
  /** @type {number | undefined} */
  let requestBytes;
  /** @type {number | undefined} */
  let responseBytes;

  /** @param {{ client: import('node:net').Socket, upstream: import('node:net').Socket }} pair */
  const reset = (pair) => {
    pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.upstream.destroy();
  };

  const server = createServer((client) => {
    opened += 1;
    client.on('error', () => undefined);
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ host: '127.0.0.1', port: target });
    const pair = { client, upstream };
    pairs.add(pair);
    upstream.on('error', () => {
      reset(pair);
    });
    client.on('close', () => {
      pairs.delete(pair);
      upstream.destroy();
    });
    upstream.on('close', () => client.end());
    client.on('data', (chunk) => {
      if (requestBytes !== undefined) {
        requestBytes -= chunk.length;
        if (requestBytes <= 0) {
          requestBytes = undefined;
          reset(pair);
          return;
        }
      }
      forward(client, upstream, chunk);
    });
    upstream.on('data', (chunk) => {
      if (responseBytes !== undefined) {
        responseBytes -= chunk.length;
        if (responseBytes <= 0) {
          responseBytes = undefined;
          reset(pair);
          return;
        }
      }
      if (!silent) forward(upstream, client, chunk);
    });
  });

  /** @param {import('node:net').Socket} from @param {import('node:net').Socket} to @param {Buffer} chunk */
  function forward(from, to, chunk) {
    const free = to.write(chunk);
    if (rate !== Infinity) {
      from.pause();
      setTimeout(() => from.resume(), (chunk.length / rate) * 1000);
    } else if (!free) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  }

  await /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    })
  );
  const address = server.address();
  const cut = () => {
    for (const pair of [...pairs]) reset(pair);
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: () => opened,
    cut,
    refuse: (value) => {
      refusing = value;
      if (value) cut();
    },
    cutRequestsAfter: (bytes) => {
      requestBytes = bytes;
    },
    cutResponsesAfter: (bytes) => {
      responseBytes = bytes;
    },
    slow: (bytesPerSecond) => {
      rate = bytesPerSecond;
    },
    silence: (value) => {
      silent = value;
    },
    close: async () => {
      cut();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
