import Testing

/// Everything with an X server runs one after another: two tests at once would only measure the machine.
@Suite(.serialized) enum IntegrationTests {}
